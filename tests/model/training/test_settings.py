"""Configurations, their overrides and the learning rate they ask for."""

import itertools

import pytest

from model.paper.config import TransformerConfig
from model.training.schedule import learning_rate, snapshot_steps
from model.training.settings import CONFIGS, SettingsError, load_settings, training_settings


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_configuration_is_a_buildable_model(path):
    model, settings = load_settings(path.stem)
    config = TransformerConfig.from_dict({**model, "vocab_size": settings.vocab_size})
    assert config.d_model % config.n_heads == 0
    assert settings.max_steps > settings.warmup_steps


def test_overrides_change_single_fields(tmp_path):
    model, settings = load_settings(
        "small", ["training.max_steps=7", "model.dropout=0.25", "training.schedule=paper"]
    )
    assert settings.max_steps == 7
    assert settings.schedule == "paper"
    assert model["dropout"] == 0.25


def test_a_file_of_ones_own_is_read(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[model]\nd_model = 64\n[training]\nseed = 9\n")
    model, settings = load_settings(str(file))
    assert model == {"d_model": 64}
    assert settings.seed == 9


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("max_steps=7", "must read like"),
        ("training.max_steps", "must read like"),
        ("training.surprise=1", "Unknown training setting"),
        ("training.max_steps=many", "must be like"),
        ("training.max_steps=true", "must be like"),
        ("training.max_steps=-1", "negative"),
        ("training.max_steps=0", "at least 1"),
        ("training.optimizer=sgd", "choose one of"),
        ("other.field=1", "unknown table"),
    ],
)
def test_a_wrong_override_is_refused_with_a_sentence(override, sentence):
    with pytest.raises(SettingsError, match=sentence):
        load_settings("small", [override])


def test_a_missing_and_a_damaged_file_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(SettingsError, match=r"choose one of .*small"):
        load_settings("nothing")
    damaged = tmp_path / "damaged.toml"
    damaged.write_text("[model\n")
    with pytest.raises(SettingsError, match="not TOML"):
        load_settings(str(damaged))


def test_the_papers_schedule_is_equation_three():
    settings = training_settings({"schedule": "paper", "warmup_steps": 4000})
    for step in (1, 100, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(settings, 512, step) == pytest.approx(expected)
    rates = [learning_rate(settings, 512, step) for step in range(1, 20_000, 50)]
    assert max(rates) == pytest.approx(512**-0.5 * 4000**-0.5, rel=0.01)


def test_the_linear_schedule_rises_holds_and_falls_to_almost_nothing():
    settings = training_settings(
        {
            "schedule": "linear",
            "warmup_steps": 10,
            "max_steps": 100,
            "learning_rate": 2.0,
            "decay_fraction": 0.5,
        }
    )
    rates = [learning_rate(settings, 512, step) for step in range(1, 101)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[9:51] == [2.0] * 42
    assert rates[-1] == pytest.approx(2.0 / 50)
    assert all(later <= earlier for earlier, later in itertools.pairwise(rates[9:]))


def test_snapshots_are_log_spaced_from_the_untrained_model_to_the_last_step():
    steps = snapshot_steps(12, 10_000)
    assert steps[0] == 0
    assert steps[-1] == 10_000
    assert len(steps) == 12
    ratios = [later / earlier for earlier, later in itertools.pairwise(steps[4:])]
    assert max(ratios) / min(ratios) < 1.1
    assert snapshot_steps(0, 100) == []
    assert snapshot_steps(1, 100) == [0]
