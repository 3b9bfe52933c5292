"""Macros: their definitions, what they expand to, and what must not come out of them."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from .tokens import CLOSES, Token, directives, tokens

__all__ = [
    "BARRIER",
    "definitions",
    "drop_brackets",
    "expanded",
    "expanded_pieces",
    "forbidden_macros",
    "forbidden_word",
    "label",
    "meaning_of_type",
]

BARRIER = re.compile(r"^(barrier|(?!get_)\w*(work|sub)_group_\w+|wait_group_events)$")

#: Tokens that macros of a piece expand to, and macros inside each other, at most.
_MOST, _DEEPEST = 20_000, 100

_COMMA = Token(",", 0, False, 0)


def forbidden_macros(preamble: str) -> dict[str, str]:
    """The macros of a preamble that expand to a forbidden word or a label, with that word or label."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    leads: dict[str, str] = {}
    for name, body in definitions(preamble):
        if found := label(body):
            leads[name] = found.partition(": ")[2]
        for token in body:
            if token.is_name:
                users[token.text].append(name)
                if word := forbidden_word(token.text):
                    leads.setdefault(name, word)
    reached = list(leads)
    while reached:
        word = reached.pop()
        for name in users[word]:
            if name not in leads:
                leads[name] = leads[word]
                reached.append(name)
    return leads


def definitions(source: str) -> Iterator[tuple[str, list[Token]]]:
    """The macros that `source` defines, with the tokens after their names."""
    for line in directives(tokens(source)):
        if len(line) > 2 and line[1].text == "define":
            yield line[2].text, line[3:]


def forbidden_word(word: str) -> str | None:
    """The word, if code between barriers and inside loops of the library's must not contain it."""
    return word if word in ("return", "goto", "asm", "__asm", "__asm__") or BARRIER.match(word) else None


def label(code: Sequence[Token]) -> str | None:
    """The first label. Colons also end cases and divide conditional expressions."""
    questions, case = 0, False
    for k, token in enumerate(code):
        text = token.text
        if text in ";{}":
            questions, case = 0, False
        elif text == "?":
            questions += 1
        elif text in ("case", "default"):
            case = True
        elif text == ":":
            if questions:
                questions -= 1
            elif case:
                case = False
            elif _begins_statement(code, k):
                return f"line {code[k - 1].line}: the label {code[k - 1].text}"
    return None


def _begins_statement(code: Sequence[Token], colon: int) -> bool:
    """Whether the name before `colon` stands where a statement begins."""
    if colon == 0 or not code[colon - 1].is_name:
        return False
    return colon == 1 or code[colon - 2].text in (";", "{", "}", "(", ")", ":", "else", "do")


def expanded(code: Sequence[Token], macros: dict[str, list[Token]]) -> Iterator[Token]:
    """`code` with macros expanded, those with parameters too.

    Raises ValueError, with the line, for macros that expand to more than compilers should be given.
    """
    return _expanded(list(code), macros, (), itertools.count())


def expanded_pieces(preamble: str, *pieces: str) -> list[list[Token]]:
    """The code of each piece, without directives, with the macros that it or an earlier piece defines expanded."""
    macros, found = dict(definitions(preamble)), []
    for piece in pieces:
        macros |= definitions(piece)
        found.append(list(expanded([token for token in tokens(piece) if not token.directive], macros)))
    return found


def meaning_of_type(name: str, preamble: str) -> str:
    """The type that a name of a type stands for, by the macros and the plain typedefs of a preamble."""
    text = " ".join(
        token.text for token in expanded([Token(name, 0, is_name=True, directive=0)], dict(definitions(preamble)))
    )
    (code,) = expanded_pieces("", preamble)
    known: dict[str, str] = {}
    for k, token in enumerate(code):
        if token.text == "typedef":
            words = list(itertools.takewhile(lambda text: text != ";", (each.text for each in code[k + 1 : k + 6])))
            known[words[-1]] = " ".join(word for word in words[:-1] if word not in ("const", "volatile"))
    for _ in range(len(known)):
        text = known.get(text, text)
    return text


def _expanded(
    code: list[Token], macros: dict[str, list[Token]], active: tuple[Token, ...], made: Iterator[int]
) -> Iterator[Token]:
    """`code` with macros expanded but those that are `active`, outermost first; `made` counts tokens of macros."""
    left, names = code[::-1], {token.text for token in active}
    while left:
        token = left.pop()
        if active and (len(active) > _DEEPEST or next(made) > _MOST):
            what = f"more than {_DEEPEST} macros in turn" if len(active) > _DEEPEST else f"more than {_MOST:,} tokens"
            raise ValueError(f"line {active[0].line}: the macro {active[0].text}, which expands to {what}")
        body = [] if token.text in names else macros.get(token.text, [])
        takes_arguments = bool(body) and body[0].text == "(" and body[0].joined
        plain = token.text in names or token.text not in macros
        if plain or (takes_arguments and (not left or left[-1].text != "(")):
            yield token
            continue
        if takes_arguments:
            given = [list(_expanded(each, macros, active, made)) for each in _arguments(left)]
            body = _filled_in(body, given)
        for each in _expanded(body, macros, (*active, token), made):
            yield each._replace(line=token.line, macro=token.text)


def _arguments(left: list[Token]) -> list[list[Token]]:
    """Take the arguments of a macro, in their brackets, from the end of a reversed list."""
    found: list[list[Token]] = [[]]
    depth = 0
    while left:
        token = left.pop()
        depth += (token.text in CLOSES.values()) - (token.text in CLOSES)
        if not depth:
            break
        if depth == 1 and token.text == ",":
            found.append([])
        elif depth > 1 or token.text != "(":
            found[-1].append(token)
    return found


def _filled_in(definition: list[Token], given: list[list[Token]]) -> list[Token]:
    """The body of a macro with parameters, with its arguments in the places of these."""
    end = next((k for k, token in enumerate(definition) if token.text == ")"), len(definition) - 1)
    names = [token.text for token in definition[1:end] if token.is_name]
    known = dict(zip(names, given, strict=False))
    if "." in {token.text for token in definition[1:end]}:  # the others, of a macro that takes any number
        known["__VA_ARGS__"] = [token for each in given[len(names) :] for token in (*each, _COMMA)][:-1]
    filled: list[Token] = []
    behind = False
    for token in definition[end + 1 :]:
        argument = known.get(token.text)
        # Compilers do not join the tokens of an argument with those around it.
        if argument is None:
            filled.append(token._replace(joined=token.joined and not behind))
        elif argument:
            filled += [argument[0]._replace(joined=False), *argument[1:]]
        behind = argument is not None
    return filled


def drop_brackets(left: list[Token]) -> None:
    """Remove a pair of round brackets, and its content, from the end of a reversed list that ends with one."""
    depth = 0
    while left and (depth or left[-1].text == "("):
        text = left.pop().text
        depth += (text == "(") - (text == ")")
        if not depth:
            return
