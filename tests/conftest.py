"""What holds for every test: the same numbers on every run, and nothing fetched from anywhere."""

import os

# Before transformers is first imported: a forgotten download fails here instead of passing by luck.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import hypothesis
import torch

# Sums split over threads round differently from run to run.
torch.set_num_threads(1)

# No deadline: the first call into torch is much slower than any later one. The examples are the
# same on every run, so a failure can be had again.
hypothesis.settings.register_profile("headscope", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("headscope")
