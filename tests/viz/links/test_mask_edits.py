import re
import tracemalloc
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, Site
from viz.links import mask_edits
from viz.links.mask_edits import Edit, decode, encode, intervention, parse, write

DECODER, CROSS, ENCODER = AttentionKind.DECODER, AttentionKind.CROSS, AttentionKind.ENCODER

MASKS = st_numpy.arrays(
    np.bool_, st.tuples(st.integers(1, 40), st.integers(1, 40)), elements=st.booleans()
)
EDITS = st.builds(
    Edit,
    st.sampled_from(mask_edits.EDITABLE),
    st.none() | st.sets(st.integers(0, 99), min_size=1, max_size=6).map(tuple),
    MASKS,
)


def band(size: int, width: int = 3) -> np.ndarray:
    rows, columns = np.indices((size, size))
    return np.abs(rows - columns) <= width


def refusal(read: Callable[[str], object], text: str) -> str | None:
    """What is said against a text; None if it is read. Anything but a ValueError fails the test."""
    try:
        read(text)
    except ValueError as error:
        return str(error)
    return None


def packed(payload: bytes) -> str:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return urlsafe_b64encode(deflate.compress(payload) + deflate.flush()).decode().rstrip("=")


@given(MASKS)
def test_a_mask_is_read_back_as_it_was(mask: np.ndarray) -> None:
    found = decode(encode(mask), mask.shape)
    assert found.dtype == np.bool_
    assert np.array_equal(found, mask)


@given(MASKS)
def test_the_text_needs_no_escaping_in_an_address(mask: np.ndarray) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]+", encode(mask))


def test_masks_without_a_pattern_and_of_the_largest_size_are_read_back() -> None:
    random = np.random.default_rng(3)
    for shape in ((512, 512), (1, 512), (512, 1), (128, 128)):
        mask = random.random(shape) < 0.5
        assert np.array_equal(decode(encode(mask)), mask)


def test_writing_a_mask_does_not_change_it() -> None:
    mask = band(9)
    encode(mask)
    assert np.array_equal(mask, band(9))


@pytest.mark.parametrize(
    "mask",
    [
        band(32),
        np.tri(32, dtype=np.bool_),
        np.tri(32, k=-1, dtype=np.bool_),
        np.ones((32, 32), dtype=np.bool_),
        np.arange(32) < np.full((32, 1), 20),
        np.kron(np.eye(4), np.ones((8, 8))).astype(np.bool_),
    ],
    ids=["band", "causal", "strictly causal", "none", "padding", "sentences"],
)
def test_the_usual_masks_take_some_thirty_characters(mask: np.ndarray) -> None:
    assert len(encode(mask)) <= 32


def test_a_large_mask_without_a_pattern_takes_three_kilobytes() -> None:
    mask = np.random.default_rng(0).random((128, 128)) < 0.5
    assert len(encode(mask)) <= 3072


def test_a_mask_of_another_size_is_refused_with_both_sizes() -> None:
    sentence = "The edited mask is 8 × 8, and this sentence makes 11 × 11."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        decode(encode(band(8)), (11, 11))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8x8",
        "8x8.",
        "x8.abcd",
        "8x8.????",
        "8x8.a",
        "8x8.AAAA",
        "-8x8.AAAA",
        "٨x٨.AAAA",
        "8x8." + "A" * 400,
        "8x8.\n",
        "0x0.AwA",
        "0x5.AwA",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        encode(band(8)) + "A" * 8,
        encode(band(8))[:-4],
        "9999999x9999999.AAAA",
        # Bits set behind the last cell.
        f"3x3.{packed(bytes([255, 255]))}",
        # A cell too few, and too many.
        f"3x3.{packed(bytes(1))}",
        f"3x3.{packed(bytes(3))}",
    ],
)
def test_a_text_that_is_no_mask_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^The mask in the address cannot be read; .*\.$"):
        decode(text)


@given(st.text(max_size=80), st.sampled_from(["", "8x8.", "decoder:*:8x8.", "cross:1:"]))
def test_no_text_raises_anything_but_one_sentence(text: str, before: str) -> None:
    for read in (decode, parse):
        message = refusal(read, before + text)
        assert message is None or re.fullmatch(r"[^\n]+\.", message)


@given(MASKS, st.data())
def test_a_damaged_mask_is_refused_or_is_a_mask(mask: np.ndarray, data: st.DataObject) -> None:
    text = encode(mask)
    start = text.index(".") + 1
    place = data.draw(st.integers(start, len(text) - 1))
    letter = data.draw(st.sampled_from("AZaz09-_"))
    damaged = text[:place] + letter + text[place + 1 :]
    assert refusal(decode, damaged) in (None, mask_edits.UNREADABLE)
    if refusal(decode, damaged) is None:
        assert decode(damaged).shape == mask.shape


def test_a_decompression_bomb_takes_no_memory() -> None:
    text = f"8x8.{packed(bytes(30_000_000))}"
    assert len(text) < mask_edits.MAX_CHARACTERS
    assert len(urlsafe_b64decode(text[4:] + "==")) > 20_000
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="cannot be read"):
            decode(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_ten_megabytes_of_text_are_refused_unread() -> None:
    for read in (decode, parse):
        with pytest.raises(ValueError, match=r"10,000,000 characters, and at most 60,000 fit"):
            read("A" * 10_000_000)


def test_a_mask_too_large_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(ValueError, match="is 513 × 2; at most 512 × 512 fit"):
        decode(f"513x2.{packed(bytes(129))}")
    with pytest.raises(ValueError, match="is 999999 × 999999; at most"):
        decode("999999x999999.AAAA")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((2, 2)), "must be a boolean array .* of float64"),
        (np.ones(4, dtype=np.bool_), r"of the shape \(4,\)"),
        (np.ones((0, 4), dtype=np.bool_), "1 to 512 queries and keys; this one is 0 × 4"),
        (np.ones((513, 1), dtype=np.bool_), "1 to 512 queries and keys; this one is 513 × 1"),
    ],
)
def test_what_is_no_mask_is_not_written(mask: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(mask)
    with pytest.raises(ValueError, match=message):
        Edit(DECODER, None, mask)


@given(st.lists(EDITS, max_size=3, unique_by=lambda edit: edit.kind))
def test_edits_are_read_back_as_they_were(edits: list[Edit]) -> None:
    found = parse(write(edits))
    assert len(found) == len(edits)
    for edit, again in zip(edits, found, strict=True):
        assert (again.kind, again.layers) == (edit.kind, edit.layers)
        assert isinstance(again.kind, AttentionKind)
        assert np.array_equal(again.allowed, edit.allowed)


def test_edits_say_where_they_are_for_in_plain_letters() -> None:
    text = write([Edit(DECODER, None, band(8)), Edit(CROSS, (2, 1), np.ones((8, 5), np.bool_))])
    assert re.fullmatch(r"decoder:\*:8x8\.[\w-]+~cross:1,2:8x5\.[\w-]+", text)
    assert [str(edit) for edit in parse(text)] == [
        "decoder attention, all layers",
        "cross attention, layers 1, 2",
    ]


@given(st.lists(EDITS, max_size=4))
def test_an_intervention_has_every_mask_at_its_layers_and_nothing_else(edits: list[Edit]) -> None:
    # One edit a kind: of two, the closer one holds.
    edits = list({edit.kind: edit for edit in edits}.values())
    under = intervention(edits)
    assert under == intervention(parse(write(edits)))
    assert under == Intervention(masks=under.masks)
    held = {edit.kind: edit for edit in edits}
    for kind in mask_edits.EDITABLE:
        for layer in range(100):
            edit = held.get(kind)
            is_edited = edit is not None and (edit.layers is None or layer in edit.layers)
            found = under.masks.at(Site(kind, layer))
            assert (found is not None) == is_edited
            assert edit is None or found is None or np.array_equal(found, edit.allowed)


def test_an_edit_is_packed_once_however_often_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed_masks = []

    def counted(allowed: np.ndarray) -> str:
        packed_masks.append(allowed)
        return encode(allowed)

    monkeypatch.setattr(mask_edits, "encode", counted)
    first, second = Edit(CROSS, None, band(8)), Edit(DECODER, (1,), band(9))
    texts = [write([first]), write([first, second]), write([second, first])]
    assert len(packed_masks) == 2
    assert texts[1] == "~".join([first.text, second.text])


def test_no_edits_are_an_empty_text() -> None:
    assert write([]) == ""
    assert parse("") == ()


def test_a_mask_for_all_layers_and_one_for_a_single_layer_go_together() -> None:
    edits = [Edit(DECODER, None, band(4)), Edit(DECODER, (3,), band(4, 1))]
    assert [edit.layers for edit in parse(write(edits))] == [None, (3,)]


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        (
            [Edit(DECODER, None, band(4)), Edit(DECODER, None, band(4))],
            "Two edited masks are for decoder attention, all layers; keep one of them.",
        ),
        (
            [Edit(CROSS, (0, 3), band(4)), Edit(CROSS, (3, 5), band(4))],
            "Two edited masks are for layer 3 of cross attention; keep one of them.",
        ),
        (
            [Edit(CROSS, (layer,), band(4)) for layer in range(33)],
            "There are 33 edited masks; an address holds 32 at most.",
        ),
    ],
)
def test_edits_that_contradict_or_are_too_many_are_refused(edits: list[Edit], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        write(edits)
    text = "~".join(write([edit]) for edit in edits)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse(text)


def test_masks_too_large_for_one_address_are_not_written() -> None:
    random = np.random.default_rng(0)
    edits = [Edit(CROSS, (layer,), random.random((512, 512)) < 0.5) for layer in range(2)]
    with pytest.raises(ValueError, match="and an address has room for 60,000; edit fewer"):
        write(edits)


def test_a_mask_of_another_size_is_refused_by_its_kind() -> None:
    text = write([Edit(DECODER, None, band(8)), Edit(ENCODER, (0,), band(5))])
    assert len(parse(text, {DECODER: (8, 8), ENCODER: (5, 5)})) == 2
    assert len(parse(text, {DECODER: (8, 8)})) == 2
    with pytest.raises(ValueError, match="is 5 × 5, and this sentence makes 6 × 6"):
        parse(text, {DECODER: (8, 8), ENCODER: (6, 6)})


@pytest.mark.parametrize(
    "text",
    [
        "decoder",
        "decoder:*",
        "Decoder:*:" + encode(band(4)),
        "module:*:" + encode(band(4)),
        "decoder:-1:" + encode(band(4)),
        "decoder:1,:" + encode(band(4)),
        "decoder:*:" + encode(band(4)) + "~",
        "decoder:*:" + encode(band(4)) + "~nothing",
        "decoder:*:*:" + encode(band(4)),
    ],
)
def test_a_text_that_is_no_edit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^The mask in the address cannot be read; .*\.$"):
        parse(text)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((), "needs at least one layer"),
        ((1, 1), "names each layer once; this one has 1,1"),
        ((-1,), "there is no layer -1"),
        ((0, 100), "there is no layer 100"),
    ],
)
def test_layers_that_cannot_be_are_refused(layers: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Edit(DECODER, layers, band(4))
    if layers and min(layers) >= 0:
        with pytest.raises(ValueError, match=message):
            parse(f"decoder:{','.join(map(str, layers))}:{encode(band(4))}")


def test_attention_of_no_known_role_has_no_mask_to_edit() -> None:
    with pytest.raises(ValueError, match="encoder, decoder and cross attention; there is no such"):
        Edit(AttentionKind.MODULE, None, band(4))


def test_an_edit_keeps_its_mask_when_the_original_changes() -> None:
    mask = band(4)
    edit = Edit(DECODER, None, mask)
    mask[:] = False
    assert np.array_equal(edit.allowed, band(4))
    with pytest.raises(ValueError, match="read-only"):
        edit.allowed[0, 0] = False
