"""The process in which the app has jobs computed: `python -m viz.shell.worker` at two pipes.

It loads models when they are asked for, and remembers nothing else.
"""

from model.serving.process import serve
from model.serving.queue import one_by_one
from viz.shell.jobs import compute

if __name__ == "__main__":
    serve(one_by_one(compute))
