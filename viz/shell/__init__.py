"""What stands around every page: address, session, sentence bar, stage, talks, the window."""
