"""Usage lines and help in the usual form: names in capitals, types as TEXT or INTEGER."""

from functools import partial
from typing import Any

TYPES = {"str": "TEXT", "int": "INTEGER", "int range": "INTEGER", "float": "NUMBER", "datetime": "TIME"}


def format_parameters(command: Any) -> None:
    """Of the command and of its subcommands."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or parameter.name.upper()
            parameter.display_type = partial(_choices, parameter.display_type)
            parameter._usage_display_name = partial(_usage_name, parameter)  # noqa: SLF001 - typer has no option for it
        else:
            parameter.display_type = partial(_type_name, parameter.display_type)
    for subcommand in getattr(command, "commands", {}).values():
        format_parameters(subcommand)


def _usage_name(parameter: Any) -> str:
    name = parameter.metavar if parameter.required else f"[{parameter.metavar}]"
    return f"{name}..." if parameter.nargs != 1 else name


def _choices(display_type: Any, ctx: Any) -> str:
    """Of an argument; what else it is, its help says."""
    name = _type_name(display_type, ctx)
    return name if "|" in name else ""


def _type_name(display_type: Any, ctx: Any) -> str:
    """`<list[str]>` as TEXT, `<a|b>` as [a|b]."""
    name = display_type(ctx).strip("<>").removeprefix("list[").removesuffix("]")
    return f"[{name}]" if "|" in name else TYPES.get(name, name.upper())
