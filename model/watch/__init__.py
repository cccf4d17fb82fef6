"""Attention of any PyTorch module, recorded without a hook and without a change to the module.

with watching() as seen:
    my_model(**inputs)
seen.sites          every attention that ran: where in the model, of which kind, and its weights
print(seen.report())    the same as text, with what else was seen and what could not be

with watching(Intervention(heads={("decoder", 2, 3): 0}), like=seen):
    my_model(**inputs)      as if that head gave nothing, without gradients

with watching(like=seen, sites=["encoder.3"], bits=8, progress=True) as seen:
    my_model(**long_inputs)     weights of one site, rounded, in a file; seen.size() says how large

A mode of torch's dispatcher sees every operation of the running thread, below autograd. Weights
that a softmax made are followed to the product with values; a fused kernel's weights are computed
beside it from what it was given. The model's own numbers stay as they are, bit for bit, and once
the block ends nothing remains installed.
"""

from model.watch.recorder import watching
from model.watch.report import OtherSoftmax, Report, Suspicion, WatchedSite
from model.watch.sites import Watched

__all__ = ["OtherSoftmax", "Report", "Suspicion", "Watched", "WatchedSite", "watching"]
