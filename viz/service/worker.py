"""The process in which the app has jobs computed: `python -m viz.service.worker` at two pipes.

It loads models when they are asked for, and remembers nothing else.
"""

import gc

from model.serving.process import serve
from viz.service.jobs import compute

if __name__ == "__main__":
    # Half a million objects that never go away: looking at them all takes as long as a sentence.
    gc.collect()
    gc.freeze()
    serve(compute)
