import importlib
import pkgutil

from equiview import stats


def test_the_public_face_is_what_the_modules_define() -> None:
    defined = set()
    for found in pkgutil.iter_modules(stats.__path__):
        if found.name.startswith("_"):
            continue
        module = importlib.import_module(f"equiview.stats.{found.name}")
        defined |= {
            name
            for name, member in vars(module).items()
            if not name.startswith("_") and callable(member) and member.__module__ == module.__name__
        }
    assert set(stats.__all__) == defined
    assert stats.__all__ == sorted(stats.__all__)


def test_every_public_name_says_what_it_is() -> None:
    for name in stats.__all__:
        member = getattr(stats, name)
        assert member.__doc__
        if not isinstance(member, type):
            assert ">>> " in member.__doc__, f"{name} has no runnable example"
