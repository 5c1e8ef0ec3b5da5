"""The package itself: what it exports, and what it says of things that are no model."""

import pytest

import secateur


def test_everything_that_is_exported_exists():
    for name in secateur.__all__:
        assert getattr(secateur, name) is not None


def test_errors_have_one_base():
    for error in (secateur.ModelError, secateur.InputError, secateur.EditingError):
        assert issubclass(error, secateur.SecateurError)


def test_an_object_that_is_no_model_is_refused_by_name():
    with pytest.raises(secateur.ModelError, match="builtins.dict"):
        secateur.load({})


def test_a_pickle_is_refused_with_advice():
    import pickle

    with pytest.raises(secateur.ModelError, match="skops"):
        secateur.Model.parse(pickle.dumps([1, 2, 3]))


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        secateur.load(tmp_path / "nothing.json")
