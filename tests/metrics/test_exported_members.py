import importlib
import pkgutil

from equiview import metrics


def test_the_public_face_is_what_the_modules_define() -> None:
    defined = set()
    for found in pkgutil.iter_modules(metrics.__path__):
        if found.name.startswith("_"):
            continue
        module = importlib.import_module(f"equiview.metrics.{found.name}")
        defined |= {
            name
            for name, member in vars(module).items()
            if not name.startswith("_") and callable(member) and member.__module__ == module.__name__
        }
    assert set(metrics.__all__) == defined
    assert metrics.__all__ == sorted(metrics.__all__)


def test_every_public_name_says_what_it_is() -> None:
    for name in metrics.__all__:
        member = getattr(metrics, name)
        assert member.__doc__
        if not isinstance(member, type):
            assert ">>> " in member.__doc__, f"{name} has no runnable example"
