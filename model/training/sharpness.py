"""The entropy of heads' rows in training, which a penalty keeps low.

A head that must decide where to look is easy to read. Nothing tells it where to look.
"""

from typing import Any

import torch
from torch import Tensor, nn

from model.paper.multi_head import MultiHead
from model.paper.transformer import Transformer

_LEAST = 1e-6
"""Smaller weights count as zero, since their logarithm would have almost no gradient."""


class RowEntropies:
    """The row entropies of every attention of a model in training.

    No head may have a module of its own; in training, attention functions return weights now.
    """

    def __init__(self, model: Transformer) -> None:
        self._pad_id = model.config.pad_id
        self._heard: list[tuple[bool, Tensor]] = []
        for part in (model.encoder, model.decoder):
            for module in part.modules():
                if isinstance(module, MultiHead):
                    function = module.get_submodule("attention")
                    function.register_forward_pre_hook(_with_weights, with_kwargs=True)
                    function.register_forward_hook(self._listener(part is model.encoder))

    def _listener(self, of_source: bool) -> Any:
        def hear(module: nn.Module, args: Any, output: tuple[Tensor, Tensor]) -> None:
            if module.training:
                weights = output[1].float()
                entropy = -(weights * weights.clamp_min(_LEAST).log()).sum(dim=-1).mean(dim=1)
                self._heard.append((of_source, entropy))

        return hear

    def total(self, source: Tensor, inputs: Tensor) -> Tensor:
        """The entropy since the last call, in nats: mean over heads and modules, sum over rows.

        Rows of padding do not count, by the token ids of both sides, (batch, token).
        """
        heard, self._heard = self._heard, []
        read = {True: source != self._pad_id, False: inputs != self._pad_id}
        sums = [(entropy * read[of_source]).sum() for of_source, entropy in heard]
        return torch.stack(sums).mean()


def _with_weights(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, {**kwargs, "need_weights": True} if module.training else kwargs
