"""Keys that are no tokens, such as a learned prefix, have names and stand behind the text's."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.brief import listed
from model.record.intervention import Intervention
from model.trace.attention_map import Tokens
from model.watch import watching
from tests.model.watch.test_edits import GPT2
from tests.model.watch.test_families import IDS, TEXT, Family, build
from tests.model.watch.test_silence import BATCH, CAUSAL, HEADS, LENGTH, WIDTH, Spelling, watched

WORDS = Tokens.unnamed("abcdef")


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(BATCH, LENGTH, WIDTH)


class Torchs(nn.Module):
    """nn.MultiheadAttention, of the text or of another one."""

    def __init__(self, need_weights: bool, **extra: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **extra)
        self.need_weights = need_weights
        self.mask: Tensor | None = None
        self.used: Tensor | None = None

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        keys = x * 1 if memory is None else memory
        output, self.used = self.attention(
            x,
            keys,
            keys,
            need_weights=self.need_weights,
            attn_mask=None if self.mask is None else ~self.mask,
            average_attn_weights=False,
        )
        return output


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("extra", "names"),
    [
        (["add_bias_kv"], ("[bias]",)),
        (["add_zero_attn"], ("[zero]",)),
        (["add_bias_kv", "add_zero_attn"], ("[bias]", "[zero]")),
    ],
)
def test_keys_that_torch_adds_have_names(extra, names, masked, need_weights, context, x):
    module = Torchs(need_weights, **dict.fromkeys(extra, True))
    module.mask = CAUSAL if masked else None
    with context():
        seen = watched(module, x)
        module.need_weights = True
        module(x)
    (site,) = seen.sites
    assert str(site.site) == ("decoder.0" if masked else "encoder.0")
    assert site.calls[0].extra_keys == names
    assert not site.notes
    assert f"with {listed(names)}" in str(seen.report())
    trace = seen.trace(source=WORDS, target=WORDS) if masked else seen.trace(source=WORDS)
    (found,) = trace.maps.values()
    assert found.keys.tokens == (*"abcdef", *names)
    torch.testing.assert_close(torch.tensor(found.weights), module.used[0].detach())


def test_keys_added_to_another_text_have_names(x):
    module = Torchs(True, add_bias_kv=True)
    seen = watched(module, x, torch.randn(BATCH, 4, WIDTH))
    (found,) = seen.trace(target=WORDS, source=WORDS[:4]).maps.values()
    assert str(found.site) == "cross.0"
    assert found.keys.tokens == (*"abcd", "[bias]")


class Prefix(Spelling):
    """Keys and values in front of the text's: of a parameter, looked up, or given."""

    def __init__(self, of: str, length: int = 2, *, fused: bool = False) -> None:
        super().__init__()
        self.of, self.fused, self.length = of, fused, length
        self.table = nn.Embedding(length, 2 * WIDTH)
        self.learned = nn.Parameter(torch.randn(2, HEADS, length, WIDTH // HEADS))
        self.given = torch.randn(2, BATCH, HEADS, length, WIDTH // HEADS)
        self.mask = CAUSAL

    def prefix(self) -> tuple[Tensor, Tensor]:
        match self.of:
            case "parameter":
                keys, values = self.learned.unsqueeze(1).expand(-1, BATCH, -1, -1, -1)
            case "table":
                each = self.table(torch.arange(self.length).expand(BATCH, -1))
                keys, values = each.view(BATCH, -1, 2, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            case _:
                keys, values = self.given
        return keys, values

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        k, v = (torch.cat(each, dim=2) for each in zip(self.prefix(), (k, v), strict=True))
        allowed = F.pad(self.mask, (self.length, 0), value=True)
        weights = (q @ k.mT / 2).masked_fill(~allowed, -torch.inf).softmax(dim=-1)
        self.keep(torch.cat([weights[..., self.length :], weights[..., : self.length]], dim=-1))
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return weights @ v


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("length", [1, 2, LENGTH])
@pytest.mark.parametrize("of", ["parameter", "table", "given"])
def test_a_prefix_is_named_and_stands_behind_the_text(of, length, fused, context, x):
    module = Prefix(of, length, fused=fused)
    with context():
        seen = watched(module, x)
    names = ("[prefix]",) if length == 1 else tuple(f"[prefix {n + 1}]" for n in range(length))
    (found,) = seen.trace(1, target=WORDS).maps.values()
    assert str(found.site) == "decoder.0"
    assert found.keys.tokens == (*"abcdef", *names)
    torch.testing.assert_close(torch.tensor(found.weights), module.used[1].detach())
    allowed = F.pad(CAUSAL, (0, length), value=True)
    assert torch.equal(torch.tensor(found.allowed), allowed)
    k = module.split(x)[1].transpose(1, 2)
    torch.testing.assert_close(torch.tensor(found.k[:, :LENGTH]), k[1].detach())


@pytest.mark.parametrize("fused", [False, True])
def test_edits_beside_a_prefix_are_carried_out(fused, x):
    module = Prefix("given", fused=fused)
    window = CAUSAL & ~CAUSAL.tril(-3)
    with torch.no_grad():
        seen = watched(module, x)
        for mask in (window, CAUSAL | True):
            with watching(Intervention(masks={"decoder": mask}), like=seen) as edited:
                output = module(x)
            module.mask = mask
            torch.testing.assert_close(output, module(x), atol=1e-6, rtol=0)
            torch.testing.assert_close(edited.sites[0].calls[0].weights, module.used)
            module.mask = CAUSAL
        own = seen.sites[0].calls[0].weights
        with watching(weights={("decoder", 0): own}, like=seen):
            torch.testing.assert_close(module(x), module(x), atol=1e-6, rtol=0)


class FirstToken(Spelling):
    """A learned token in front of the text, with queries like all others."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(1, 1, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1)
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        return (q @ k.mT).softmax(dim=-1) @ v


class Halves(Spelling):
    """Keys put together of two parts of one text."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        k = torch.cat([k[:, :, :2] * 2, k[:, :, 2:]], dim=2)
        return (q @ k.mT).softmax(dim=-1) @ v


@pytest.mark.parametrize("module", [FirstToken(), Halves()])
def test_tokens_of_the_text_are_no_extra_keys(module, x):
    (site,) = watched(module, x).sites
    assert site.calls[0].extra_keys == ()
    assert site.calls[0].n_queries == site.calls[0].n_keys


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_prompt_cache_is_named_in_one_pass_and_in_all_steps_of_a_text(attention):
    cache = pytest.importorskip("transformers").DynamicCache
    model = build(Family("GPT2LMHeadModel", "GPT2Config", GPT2, TEXT, ""), attention)

    def prefix() -> object:
        made = cache()
        torch.manual_seed(5)
        for layer in range(2):
            made.update(torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8), layer)
        return made

    names = tuple(f"[prefix {n}]" for n in (1, 2, 3))
    ids = IDS[:1]
    with torch.no_grad():
        with watching() as seen:
            model(ids, past_key_values=prefix())
        mask = torch.ones(1, ids.shape[1] + 3, dtype=torch.long)
        with watching() as steps:
            past = prefix()
            for n in range(ids.shape[1]):
                step = mask[:, : n + 4]
                past = model(ids[:, n : n + 1], past_key_values=past, attention_mask=step)[1]
    words = Tokens.unnamed(range(ids.shape[1]))
    for each in (seen, steps):
        trace = each.trace(target=words)
        assert list(map(str, trace.maps)) == ["decoder.0", "decoder.1"]
        for found in trace.maps.values():
            assert found.keys.tokens == (*words, *names)
    for site, found in seen.trace(target=words).maps.items():
        stepwise = steps.trace(target=words).maps[site]
        torch.testing.assert_close(
            torch.tensor(stepwise.weights), torch.tensor(found.weights), atol=1e-5, rtol=0
        )


class Summaries(Spelling):
    """Keys of blocks behind those of tokens, by a matrix that says what is in a block."""

    def forward(self, x: Tensor) -> Tensor:
        blocks = F.one_hot(torch.arange(LENGTH) // 2).float().T / 2
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        more = [each.transpose(1, 2) for each in self.split(blocks @ x)]
        k, v = torch.cat([k, more[1]], dim=2), torch.cat([v, more[2]], dim=2)
        return (q @ k.mT).softmax(dim=-1) @ v


@pytest.mark.parametrize("embedded", [False, True])
def test_keys_computed_from_the_text_are_not_named_after_what_else_they_are_made_of(embedded, x):
    module = Summaries()
    with watching() as seen:
        module(F.embedding(torch.arange(LENGTH).expand(BATCH, -1), x[0]) if embedded else x)
    (site,) = seen.sites
    assert str(site.site) == "encoder.0"
    assert site.calls[0].extra_keys == ()
    assert any("6 queries and 9 keys" in note for note in site.notes)
