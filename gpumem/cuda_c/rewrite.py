"""The device side of a preprocessed source, as C++ that the host's compiler takes.

What CUDA C has beyond C++ and headers cannot provide is rewritten here: host functions and what
only they use are left out, ``extern __shared__`` arrays become pointers to the block's dynamic
shared memory, other ``__shared__`` variables get guard bytes behind them, device variables a
section of their own, and in traced code local variables without initialiser are reported. Lines
keep their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from .declarations import (
    Declarator,
    Variables,
    read_parameters,
    read_variables,
    skip_requirement,
)
from .guards import guarded, holder, reference
from .needs import Declaration, Needs, class_names
from .overloads import Definition
from .rewritten import Head, Rewritten
from .token_text import TokenText
from .tokens import Token, closing, skip_angles, tokenize

__all__ = ["GUARD_BYTES", "Rewritten", "limits_name", "rewrite"]

GUARD_BYTES = 64  # behind each variable, where nothing may be accessed

_CLASS_KEYS = {"struct", "class", "union", "enum"}
_KEPT = {"constexpr", "consteval"}  # functions that device code may call unmarked
_SIMPLE = {"using", "typedef", "static_assert", "friend", "enum", "public", "private", "protected"}
_SECTIONS = {"__constant__": "gm_constant", "__managed__": "gm_variable"}
_SECTIONS["__device__"] = "gm_variable"
_LIMITS = {"__launch_bounds__": "gm_bounds", "__cluster_dims__": "gm_cluster"}
_DEVICE = {"__global__", "__shared__", *_SECTIONS}


def limits_name(kernel: str) -> str:
    """Return the name of the constant with a kernel's limits; also of an instance."""
    name, bracket, arguments = kernel.partition("<")
    prefix, colons, last = name.rpartition("::")
    kind = "gm_limits_of_template" if bracket else "gm_limits_of"
    return f"{prefix}{colons}{kind}_{last}{bracket}{arguments}"


def rewrite(
    text: str, mark_locals: bool, instances: Sequence[str] = (), guard_locals: bool = False
) -> Rewritten:
    """Rewrite the output of the preprocessor; types that instances of templates name are kept.

    Local variables may be reported to the trace, and local arrays get guards.

    Raises
    ------
    CompileError
        For what the simulator does not have, with file and line.
    """
    return _Rewriter(tokenize(text), mark_locals, guard_locals).run(instances)


class _Rewriter(TokenText):
    """Goes through the declarations of a source, and decides what becomes of each."""

    def __init__(self, tokens: list[Token], mark_locals: bool, guard_locals: bool = False) -> None:
        super().__init__(tokens)
        self.mark_locals = mark_locals
        self.with_guards = guard_locals
        self.result = Rewritten("")
        self.dynamic: dict[str, str] = {}  # extern __shared__ arrays at file scope: declaration
        self.guards = 0
        self.needs = Needs()
        self.namespaces: set[str] = set()
        self.seen: set[int] = set()  # semicolons of declarations of local variables

    def run(self, instances: Sequence[str]) -> Rewritten:
        self.scope(0, len(self.tokens), "", False)
        for first, end in self.needs.unneeded(self.tokens, self.out, instances):
            self.replace(first, end, "")
        self.result.text = "".join(self.out)
        return self.result

    def meaning(self, word: str) -> set[str]:
        """Return the words that a word stands for."""
        return {word}

    # ---- namespaces and classes ------------------------------------------------------------

    def scope(self, at: int, end: int, prefix: str, in_class: bool) -> None:
        """Go through the declarations of a namespace or a class."""
        while (at := self.matter(at, end)) < end:
            at = max(self.declaration(at, end, prefix, in_class), at + 1)

    def declaration(self, first: int, end: int, prefix: str, in_class: bool) -> int:
        """Treat one declaration; return the index behind it."""
        word = self.tokens[first].text
        if word in (";", "}"):
            return first + 1
        if word == "namespace" or (word == "inline" and self.follows(first, end) == "namespace"):
            return self.namespace(first, end, prefix)
        if word == "extern" and self.tokens[self.matter(first + 1, end)].kind == "string":
            behind = self.matter(self.matter(first + 1, end) + 1, end)
            if behind < end and self.tokens[behind].text == "{":
                close = closing(self.tokens, behind, end)
                self.scope(behind + 1, close, prefix, in_class)
                return close + 1
        if word in ("public", "private", "protected"):
            return self.matter(first + 1, end) + 1  # the colon
        return self.one(first, end, prefix, in_class)

    def namespace(self, first: int, end: int, prefix: str) -> int:
        at, names = self.matter(first + 1, end), []
        while at < end and self.tokens[at].text not in ("{", ";", "="):
            if self.tokens[at].kind == "name" and self.tokens[at].text not in ("namespace",):
                names.append(self.tokens[at].text)
            at += 1
        if at >= end or self.tokens[at].text != "{":
            return self.semicolon(at, end) + 1
        self.namespaces.update(names)
        close = closing(self.tokens, at, end)
        self.scope(at + 1, close, prefix + "".join(f"{name}::" for name in names), False)
        return close + 1

    def one(self, first: int, end: int, prefix: str, in_class: bool) -> int:
        """Treat a function, a class, or variables; return the index behind."""
        head = Head(set(), "", None, False)
        at, assigned, colon = first, False, False
        while at < end:
            token = self.tokens[at]
            if token.text == "template" and self.follows(at, end) == "<":
                head.template = True
                at = skip_angles(self.tokens, self.matter(at + 1, end), end)
                at = skip_requirement(self.tokens, at, end)
                continue
            if token.text == ";":
                return self.plain(first, at, head, prefix, in_class)
            if token.text == "=" and "operator" not in head.words:
                assigned = True
            elif token.text == "(" and "const" in head.words and self.is_number(at + 1, end):
                assigned = True  # const float scale(0.5f)
                at = closing(self.tokens, at, end)
            elif token.text == "(":
                close = closing(self.tokens, at, end)
                attribute = self.before(at, first) in ("alignas", "__align__", "__attribute__")
                attribute = attribute or self.before(at, first) in (*_LIMITS, "decltype")
                if not attribute and head.parameters is None and not assigned:
                    head.name = self.before(at, first)
                    head.parameters = (at + 1, close)
                at = close
            elif token.text == "[":
                at = closing(self.tokens, at, end)
            elif token.text == "<" and self.is_type(at - 1):
                at = max(at, skip_angles(self.tokens, at, end) - 1)
            elif token.text == ":" and head.parameters is not None:
                colon = True
            elif token.text == "{":
                initialises = assigned or (colon and self.is_member_initialiser(at, first))
                if initialises:
                    at = closing(self.tokens, at, end)
                elif head.parameters is not None:
                    return self.function(first, at, end, head, prefix, in_class)
                elif head.words & _CLASS_KEYS:
                    close = closing(self.tokens, at, end)
                    if "enum" not in head.words:
                        self.scope(at + 1, close, f"{prefix}{self.class_name(first, at)}::", True)
                    at = close
                else:
                    at = closing(self.tokens, at, end)
            elif token.kind == "name" and not assigned:
                head.words |= self.meaning(token.text)
            at += 1
        return end

    def is_member_initialiser(self, at: int, first: int) -> bool:
        """Whether a brace behind the colon of a constructor initialises a member."""
        i = at - 1
        while i > first and not self.tokens[i].matters:
            i -= 1
        return self.tokens[i].kind == "name" or self.tokens[i].text == ">"

    def class_name(self, first: int, brace: int) -> str:
        names = [
            self.tokens[i].text
            for i in range(first, brace)
            if self.tokens[i].kind == "name" and self.tokens[i].text not in _CLASS_KEYS
        ]
        return names[-1] if names else ""

    # ---- functions -------------------------------------------------------------------------

    def function(
        self, first: int, brace: int, end: int, head: Head, prefix: str, in_class: bool
    ) -> int:
        """Treat a function with a body; return the index behind it."""
        close = closing(self.tokens, brace, end)
        device = head.words & {"__global__", "__device__"}
        names: set[str] = set() if in_class else {head.name}
        if not device and not head.words & _KEPT:
            self.replace(first, min(close + 1, end), "")
            self.needs.gone |= names
            return close + 1
        if device:
            self.needs.kept |= names
        elif names and "operator" not in head.words:
            optional = Declaration(first, min(close + 1, end), frozenset(names))
            self.needs.optional.append(optional)
        if "__global__" in head.words and head.name != ">":  # k<double>(...) is an instance of k
            parameters = read_parameters(self.tokens, *(head.parameters or (0, 0)))
            found = Definition(prefix + head.name, head.template, tuple(parameters))
            self.result.definitions.append(found)
            self.out[close] += self.limits(first, brace, head, prefix)
        names = {t.text for t in self.tokens[slice(*(head.parameters or (0, 0)))]}
        inside = {t.text for t in self.tokens[brace:close] if t.kind == "name"}
        pointers = [
            text for name, text in self.dynamic.items() if name in inside and name not in names
        ]
        self.out[brace] += "".join(pointers)
        self.body(brace + 1, close, constant=bool(head.words & _KEPT))
        return close + 1

    def limits(self, first: int, end: int, head: Head, prefix: str) -> str:
        """Return a constant with what the first declaration that says so allows a kernel."""
        said = dict.fromkeys(_LIMITS, "")
        if not head.name.isidentifier():
            return ""  # a template's instance
        for i in range(first, end):
            if self.tokens[i].text in said and self.follows(i, end) == "(":
                bracket = self.matter(i + 1, end)
                said[self.tokens[i].text] = self.text(
                    bracket + 1, closing(self.tokens, bracket, end)
                )
        name = f"{head.name}<>" if head.template else head.name
        if not any(said.values()) or prefix + name in self.result.limited:
            return ""
        self.result.limited.append(prefix + name)
        header = ""
        if head.template:
            past = skip_angles(self.tokens, self.matter(first + 1, end), end)
            header = self.text(first, past)
        made = ", ".join(f"{_LIMITS[word]}({text})" for word, text in said.items())
        return (
            f" {header} [[maybe_unused]] constexpr gm_module_limits "
            f"{limits_name(name).removesuffix('<>')} = gm_limits({made});"
        )

    def body(self, at: int, end: int, constant: bool) -> None:
        """Go through the statements of a function that the simulator runs."""
        begins, label, depth = True, False, 0
        first = at
        while at < end:
            token = self.tokens[at]
            if token.matters:
                self.check(at, end)
                if begins and depth == 0 and token.kind in ("name", "mark"):
                    label = token.text in ("case", "default") or self.follows(at, end) == ":"
                    at = self.statement(at, end, constant, first)
                    token = self.tokens[at] if at < end else token
                depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "mark" else 0
                begins = token.text in (";", "{", "}", "else", "do")
                begins = begins or (depth == 0 and token.text == ")")
                begins = begins or (depth == 0 and token.text == ":" and label)
            at += 1

    def check(self, at: int, end: int) -> None:
        """Raise for what the simulator does not have."""
        text = self.tokens[at].text
        if text == "<<<":
            raise self.refuse(
                at,
                "a kernel that launches a kernel (dynamic parallelism) does not run on the "
                "simulator",
            )
        if text in ("asm", "__asm__", "__asm"):
            bracket = at
            while bracket < end and self.tokens[bracket].text != "(":
                bracket += 1
            inner = self.text(bracket + 1, closing(self.tokens, bracket, end))
            if inner.split(":")[0].replace(" ", "").strip('"'):
                raise self.refuse(
                    at, f"PTX assembly does not run on the simulator: asm({inner[:60]}...)"
                )

    def statement(self, at: int, end: int, constant: bool, first: int) -> int:
        """Treat a declaration; return the index of its semicolon, or `at` if it is none.

        The function's body begins at `first` and ends at `end`.
        """
        if self.tokens[at].kind == "mark" and self.tokens[at].text not in ("::", "["):
            return at
        stop = self.semicolon(at, end)
        is_class = self.tokens[at].text in _CLASS_KEYS
        is_class = is_class and any(t.text == "{" for t in self.tokens[at:stop])
        variables = read_variables(self.tokens, at, stop) if stop < end else None
        if variables is None:
            return stop if is_class else at
        if "__shared__" in variables.words:
            self.shared(at, variables, in_function=True)
        elif self.mark_locals and not constant:
            if self.with_guards and stop not in self.seen:
                self.seen.add(stop)  # behind the attribute of a type the rest is seen once more
                self.guard_locals(variables, guarded(self.tokens, variables, end, first))
            if not variables.words & {"static", "extern", "const"}:
                self.out[stop] += "".join(
                    f" gm_unwritten({d.name});"
                    for d in variables.declarators
                    if not (d.initialised or d.reference)
                )
            if any(d.initialised for d in variables.declarators):
                # Initialisers may hold lambdas with statements of their own; classes have none.
                return variables.type_end if is_class else at
        else:
            return at
        return stop

    def guard_locals(self, variables: Variables, arrays: list[Declarator]) -> None:
        """Put local arrays into structures, between guards."""
        if not arrays:
            return
        kind = self.text(variables.type_first, variables.type_end)
        place = variables.type_first
        for d in variables.declarators:
            before, behind = holder(d).split("...") if d in arrays else ("", "")
            if place == variables.type_first:
                self.out[place] = before + self.out[place]
            else:
                self.out[place] += f"{before} {kind} "
            finish = f"{behind};"
            if d in arrays and d.initialised:
                equals = self.matter(d.core_end, d.end)
                self.out[equals] = "" if self.tokens[equals].text == "=" else self.out[equals]
                self.out[equals] = f"{behind} = {{{{}}, " + self.out[equals]
                finish = ", {}};"
            place = d.end
            self.out[place] = f"{finish} {reference(d)}" if d in arrays else finish

    # ---- variables -------------------------------------------------------------------------

    def plain(self, first: int, stop: int, head: Head, prefix: str, in_class: bool) -> int:
        """Treat a declaration that ends with a semicolon, not with the body of a function."""
        words = head.words
        if "__shared__" in words:
            variables = read_variables(self.tokens, first, stop)
            if variables:
                self.shared(first, variables, in_function=False)
        elif words & set(_SECTIONS) and (head.parameters is None or self.is_variable(first, stop)):
            self.device_variables(first, stop, words, head.template or in_class, prefix)
        elif "__global__" in words:
            self.out[stop] += self.limits(first, stop, head, prefix)
        elif head.parameters is not None and not words & ({"__device__"} | _KEPT):
            if not words & _SIMPLE and not in_class and "operator" not in words:
                self.replace(first, stop + 1, "")  # a host function's declaration
                self.needs.gone.add(head.name)
            elif not in_class:
                self.optional(first, stop, words)
        elif in_class:
            self.members(first, stop)
        elif self.is_for_device(first, words):
            self.optional(first, stop, words)
        else:
            self.replace(first, stop + 1, "")
            variables = read_variables(self.tokens, first, stop)
            self.needs.gone.update(d.name for d in (variables.declarators if variables else ()))
        return stop + 1

    def optional(self, first: int, stop: int, words: set[str]) -> None:
        """Note that a declaration may be left out, unless it has device code in it."""
        inside = {t.text for t in self.tokens[first:stop] if t.matters}
        if inside & _DEVICE:
            if words & _CLASS_KEYS:
                self.needs.kept |= class_names(self.tokens, first, stop)
            return
        variables = read_variables(self.tokens, first, stop)
        if "using" in words:
            at = first
            while self.tokens[at].text != "using":
                at += 1
            name = self.follows(at, stop)
            if "=" not in inside:
                if name in self.namespaces | {"::"}:
                    self.needs.following.append((first, stop + 1))
                return
            names = frozenset({name})
        elif "typedef" in words or (words & _CLASS_KEYS and "{" in inside):
            names = class_names(self.tokens, first, stop)
        else:
            names = frozenset(d.name for d in variables.declarators) if variables else frozenset()
        if names:
            self.needs.optional.append(Declaration(first, stop + 1, names))
        else:
            self.needs.following.append((first, stop + 1))

    def members(self, first: int, stop: int) -> None:
        """Note that initialisers of members may call functions of the host."""
        variables = read_variables(self.tokens, first, stop)
        if variables and not variables.words & {"static", "constexpr"}:
            self.needs.initialisers += [(d.core_end, d.end) for d in variables.declarators]

    def is_variable(self, first: int, stop: int) -> bool:
        """Whether parentheses belong to an initialiser, or to a pointer, and not to a function."""
        variables = read_variables(self.tokens, first, stop)
        return variables is not None and all(
            d.array or not d.initialised or self.tokens[self.matter(d.core_end, d.end)].text == "="
            for d in variables.declarators
        )

    def is_for_device(self, first: int, words: set[str]) -> bool:
        """Whether device code can use it: a type, a constant, a template, but no host variable."""
        kept = _CLASS_KEYS | _SIMPLE | _KEPT | {"const", "template", "operator", "__device__"}
        return bool(words & (kept | {"__global__"})) or self.tokens[first].text == "template"

    def device_variables(
        self, first: int, stop: int, words: set[str], shared_code: bool, prefix: str
    ) -> None:
        """Put ``__device__`` and ``__constant__`` variables into sections, with guards."""
        if "constexpr" in words or shared_code:
            return
        section = "gm_constant" if "__constant__" in words else "gm_variable"
        variables = read_variables(self.tokens, first, stop)
        names = [d.name for d in variables.declarators] if variables else []
        self.result.declared += [prefix + name for name in names]
        if "extern" in words:
            return
        attribute = f'__attribute__((section("{section}"), used)) '
        for i in range(first, stop):
            if self.tokens[i].text in ("const", "static", "extern") and variables:
                if i < variables.type_end and self.tokens[i].text == "const":
                    pointer = "*" in self.text(variables.type_end, stop)
                    self.out[i] = self.out[i] if pointer else ""
            if self.tokens[i].text in _SECTIONS:
                self.out[i] = attribute
                attribute = ""
        self.guards += 1
        self.out[stop] += (
            f' __attribute__((section("{section}"), used)) '
            f"static char gm_guard_{self.guards}[{GUARD_BYTES}];"
        )

    def shared(self, first: int, variables: Variables, in_function: bool) -> None:
        """Rewrite ``__shared__`` variables."""
        dropped = {"__shared__", "static", "extern"}
        kind = self.joined(
            i
            for i in range(variables.type_first, variables.type_end)
            if self.tokens[i].text not in dropped
        )
        made = []
        for d in variables.declarators:
            if "extern" in variables.words:
                text = self.dynamic_shared(kind, d)
                if not in_function:
                    self.dynamic[d.name] = text
                    text = ""
                made.append(text)
            else:
                made.append(self.static_shared(kind, d, in_function))
        self.replace(first, variables.end + 1, "")
        self.out[first] = "".join(made) + self.out[first]

    def dynamic_shared(self, kind: str, d: Declarator) -> str:
        """``extern __shared__ float s[][4]`` as a pointer to the dynamic shared memory."""
        at = self.matter(d.first, d.end)
        while self.tokens[at].text != d.name:
            at += 1
        pointers = self.text(d.first, at)
        bracket = self.matter(at + 1, d.end)
        rest = ""
        if bracket < d.end and self.tokens[bracket].text == "[":
            rest = self.text(closing(self.tokens, bracket, d.end) + 1, d.end)
        to = f"{kind} {pointers} (*{{0}}){rest}" if rest else f"{kind} {pointers} *{{0}}"
        return (
            f" [[maybe_unused]] {to.format('const ' + d.name)} ="
            f" reinterpret_cast<{to.format('')}>(gm_lane.dynamic_shared);"
        )

    def static_shared(self, kind: str, d: Declarator, in_function: bool) -> str:
        core = self.text(d.first, d.core_end)
        if d.initialised:
            raise self.refuse(d.first, f"the __shared__ variable {d.name} has an initialiser")
        if not in_function:
            self.guards += 1
            return (
                f" static thread_local {kind} {core};"
                f" static thread_local char gm_guard_{self.guards}[{GUARD_BYTES}];"
            )
        holder = f"gm_shared_{d.name}"
        return (
            f" struct {holder}_type {{ {kind} {core}; char gm_guard[{GUARD_BYTES}]; }};"
            f" __attribute__((used)) static thread_local {holder}_type {holder} = {{}};"
            f" [[maybe_unused]] auto &{d.name} = {holder}.{d.name};"
        )
