"""Whether a JSON Schema somebody wrote can be used, known before anything runs."""

from __future__ import annotations

from oma_desktop.model.json_value import JsonObject


def usable_schema(schema: JsonObject | None) -> JsonObject | None:
    """Return the schema. Raises ValueError with what is wrong in it and where."""
    if schema is None:
        return None
    # Only files with a schema pay for the library.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "schema"
        raise ValueError(f"not a usable JSON Schema at {where}: {error.message}") from None
    return schema
