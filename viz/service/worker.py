"""The process that computes the app's jobs: `python -m viz.service.worker`, at two pipes.

It loads models when they are asked for, and remembers nothing else.
"""

import gc

from model.serving.process import serve
from viz.service.batching import compute

if __name__ == "__main__":
    # Half a million objects that never go away: scanning them takes as long as a sentence.
    gc.collect()
    gc.freeze()
    serve(compute)
