"""All that is public: the names of the package, and methods of its classes."""

import inspect

import keras_attention
from keras_attention.datasets import phrases
from keras_attention.datasets import spanish_english


def is_public(name):
    return not name.startswith("_")


def is_ours(cls):
    return cls.__module__.startswith("keras_attention")


def defined_in(module):
    """The public classes and functions that a module defines, by name."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if is_public(name)
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    }


# Classes and functions by name.
PUBLIC = {
    name: getattr(keras_attention, name)
    for name in keras_attention.__all__
    if name != "datasets"  # a package: what its modules define
} | {
    f"{module.__name__}.{name}": thing
    for module in (phrases, spanish_english)
    for name, thing in defined_in(module).items()
}
CLASSES = {
    name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)
}


def own_methods(cls):
    """The public methods and properties that a class is the first to have.

    An override has the docstring and the hints of what it overrides.
    """
    bases = [base for base in cls.__mro__[1:] if is_ours(base)]
    for name, member in vars(cls).items():
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, classmethod):
            member = member.__func__
        is_new = not any(name in vars(base) for base in bases)
        if is_public(name) and is_new and inspect.isfunction(member):
            # Keras wraps `build`, for example.
            yield f"{cls.__qualname__}.{name}", inspect.unwrap(member)


# Functions by qualified name, those too that a class has of a base that is not
# public.
METHODS = {
    name: method
    for cls in CLASSES.values()
    for base in cls.__mro__
    if is_ours(base)
    for name, method in own_methods(base)
}


def parameters(function):
    """The parameters that have a name, but for the object itself."""
    starred = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind not in starred and name not in ("self", "cls")
    }
