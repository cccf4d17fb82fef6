"""The process that computes the app's jobs: `python -m viz.service.worker`, at two pipes.

It loads models when they are asked for, and remembers nothing else.
"""

from model.serving.idle_gc import collect_when_idle
from model.serving.process import serve
from viz.service.batching import compute

if __name__ == "__main__":
    collect_when_idle()
    serve(compute)
