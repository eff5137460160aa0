"""Importing purefit is light and touches no device."""

import pkgutil
import subprocess
import sys

import purefit


def run(code, **environment):
    import os

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment)


def test_importing_purefit_imports_nothing_heavy():
    heavy = "{'jax', 'numpy', 'orbax', 'rich', 'sklearn', 'tyro', 'plotly'}"
    assert run(f"import sys, purefit; print({heavy} & set(sys.modules))").stdout == "set()\n"


def test_the_help_needs_no_jax():
    code = "import sys, contextlib; from purefit.cli import main\nwith contextlib.suppress(SystemExit):\n"
    code += "    main(['train', '--help'])\n"
    done = run(code + "print({'jax', 'orbax', 'sklearn', 'plotly'} & set(sys.modules))")
    assert done.stdout.endswith("set()\n"), done.stderr


def test_no_module_starts_a_backend():
    """With a platform that doesn't exist, starting one would fail; importing every module doesn't."""
    names = [
        module.name for module in pkgutil.walk_packages(purefit.__path__, "purefit.") if "__main__" not in module.name
    ]
    assert len(names) > 30
    imports = f"import importlib\nfor name in {names}: importlib.import_module(name)\n"
    assert run(imports, JAX_PLATFORMS="nowhere").returncode == 0
    assert run(imports + "import jax; jax.devices()", JAX_PLATFORMS="nowhere").returncode != 0


def test_every_public_name_is_there():
    for name in purefit.__all__:
        assert getattr(purefit, name) is not None
