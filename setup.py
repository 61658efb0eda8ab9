"""Packaging of keras_attention."""

import re
from pathlib import Path

from setuptools import find_packages
from setuptools import setup


ROOT = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+?)"', (ROOT / "keras_attention/__init__.py").read_text()
).group(1)

TUTORIALS = [
    "matplotlib>=3.8",
    "sacrebleu>=2.4",
    "sentencepiece>=0.2",
    "starlette>=0.40",
    "tensorflow>=2.19",
    "tensorflow-text>=2.19",
    "tqdm>=4.66",
    "uvicorn>=0.30",
]
BACKENDS = [  # beside a backend: TensorFlow, JAX or PyTorch
    "hypothesis>=6.100",
    "matplotlib>=3.8",
    "pytest>=8",
    "pytest-xdist>=3.6",
]
DOCS = [
    "math-core>=0.9,<0.10",
    "mkdocs>=1.6,<2",
    "mkdocs-jupyter>=0.25",
    "mkdocs-material>=9.5",
    "mkdocstrings[python]>=0.27",
    "ziamath>=0.13",
]
TEST = [
    *TUTORIALS,
    *BACKENDS,
    *DOCS,
    "build>=1.2",
    "ipykernel>=6.29",
    "jupytext>=1.16",
    "papermill>=2.6",
    "ruff==0.17.6",
    "selenium>=4.20",
    "twine>=6",
]

setup(
    name="keras-attention-rnn",
    version=VERSION,
    description="Attention for recurrent models in Keras 3: Bahdanau and "
    "Luong layers, cells, decoders",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    install_requires=["keras>=3.14", "numpy>=1.26"],
    extras_require={
        "tutorials": TUTORIALS,
        "backends": BACKENDS,
        "test": TEST,
        "docs": DOCS,
    },
    packages=find_packages(include=["keras_attention", "keras_attention.*"]),
    package_data={"keras_attention": ["py.typed"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
