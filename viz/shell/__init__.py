"""The frame around every page: address, sentence bar, Save menu, stage, sharing."""
