"""Names of kernels: with the types of their parameters where several have one name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .declarations import Parameter

__all__ = [
    "Definition",
    "by_name",
    "is_overload",
    "last_of_each",
    "plain_name",
    "pointers",
]


@dataclass(frozen=True)
class Definition:
    """A kernel that a source defines."""

    name: str  # with its namespaces
    template: bool
    parameters: tuple[Parameter, ...]

    @property
    def types(self) -> str:
        """The types of the parameters, as in a type of functions."""
        return ", ".join(one.type for one in self.parameters)


def by_name(definitions: Iterable[Definition], template: bool) -> dict[str, list[Parameter]]:
    """Return the parameters of kernels, or of templates of kernels, by names that tell them apart.

    That is "scale", or "scale(float *, int)" if there is another kernel or template of that name.
    """
    known = {(one.name, one.template, one.types): one for one in definitions}
    names = [name for name, _, _ in known]
    return {
        name if names.count(name) == 1 or _is_alone(known, one) else f"{name}({one.types})": [
            *one.parameters
        ]
        for (name, of_template, _), one in known.items()
        if of_template == template
    }


def _is_alone(known: Iterable[tuple[str, bool, str]], one: Definition) -> bool:
    """Whether this is the only template of its name; kernels of that name say their types."""
    return one.template and [key[:2] for key in known].count((one.name, True)) == 1


def last_of_each(definitions: Iterable[Definition]) -> list[Definition]:
    """Return one definition of each name, if others are left out by the preprocessor."""
    return [*{(one.name, one.template): one for one in definitions}.values()]


def is_overload(name: str) -> bool:
    """Whether a kernel's name says the types of its parameters."""
    return "(" in name.partition("<")[0]


def plain_name(name: str) -> str:
    """Return a name without the types of parameters: what the source calls the kernel."""
    return name.partition("(")[0].strip() if is_overload(name) else name


def pointers(names: Sequence[str]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return declarations for the end of a source, and for each kernel its address and its type.

    Those of an overloaded kernel are declared in its namespace, where its types have their names.
    """
    lines, found = [], {}
    for i, name in enumerate(names):
        full = f"::{plain_name(name).removeprefix('::')}"  # std may have the name, too
        found[name] = f"&{full}", f"decltype({full})"
        if is_overload(name):
            spaces = full.split("::")[1:-1]
            types = name[name.index("(") :]
            lines += [
                "".join(f"namespace {one} {{ " for one in spaces)
                + f"using gm_overload_type_{i} = void{types}; "
                f"constexpr gm_overload_type_{i} *gm_overload_{i} = &{full};" + " }" * len(spaces)
            ]
            scope = "".join(f"::{one}" for one in spaces)
            found[name] = f"{scope}::gm_overload_{i}", f"{scope}::gm_overload_type_{i}"
    return "\n".join(lines), found
