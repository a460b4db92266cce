"""The charts of the page as Vega-Lite, without their data: the page fills in what is chosen.

Series are called `s0`, `s1`, …, so that no name of a store becomes part of an expression.
"""

import json
from functools import cache
from typing import Any

from randpos.extras import MissingExtraError


@cache
def library() -> str:
    """Returns Vega, Vega-Lite and Vega-Embed as one script; it needs no network."""
    alt, vl_convert = _libraries()
    version = alt.SCHEMA_VERSION.removeprefix("v").rsplit(".", 1)[0]
    return vl_convert.javascript_bundle(vl_version=version)


@cache
def specs() -> str:
    """Returns the specifications as JSON: `curves` of many encodings, and a single `line`."""
    alt, _ = _libraries()
    return json.dumps({"curves": _curves(alt).to_dict(), "line": _line(alt).to_dict()})


def _libraries() -> tuple[Any, Any]:
    # Imported late: the tables do without them.
    try:
        import altair
        import vl_convert
    except ImportError as error:
        raise MissingExtraError("the report page", "Altair and vl-convert", "report") from error
    return altair, vl_convert


def _near(alt: Any) -> Any:
    """Selects the points at the x that is nearest to the pointer."""
    how = {"on": "pointermove", "clear": "pointerout", "fields": ["x"], "empty": False}
    return alt.selection_point("near", nearest=True, **how)


def _curves(alt: Any) -> Any:
    """Accuracy over length: a line for each series, the training range, the level of chance."""
    data, facts, near = alt.NamedData("curves"), alt.NamedData("facts"), _near(alt)
    bands_data, marks_data = alt.NamedData("bands"), alt.NamedData("marks")
    x = alt.X("x:Q").title("length").scale(domainMin=1, nice=False)
    # A little more than 100, or a perfect line would lie on the edge.
    y = alt.Y("y:Q").title("accuracy in %").scale(domain=[0, 102], nice=False)
    seen = (
        alt.Chart(facts)
        .mark_rect(opacity=0.12)
        .encode(x=alt.X("first:Q"), x2="last:Q", color=alt.value("#888888"))
        .transform_filter("isValid(datum.last)")
    )
    chance = (
        alt.Chart(facts)
        .mark_rule(strokeDash=[2, 3], color="#888888")
        .encode(y=alt.Y("chance:Q"))
        .transform_filter("isValid(datum.chance)")
    )
    # The page sets the domains and ranges of both scales.
    scale = alt.Scale(domain=[], range=[])
    color = alt.Color("series:N", scale=scale, legend=None)
    bands = (
        alt.Chart(bands_data)
        .mark_area(opacity=0.15, clip=True)
        .encode(x=x, y=alt.Y("low:Q").scale(domain=[0, 102], nice=False), y2="high:Q", color=color)
    )
    lines = (
        alt.Chart(data)
        .mark_line(strokeWidth=1.8, clip=True)
        .encode(
            x=x,
            y=y,
            color=color,
            strokeDash=alt.StrokeDash("series:N", scale=scale, legend=None),
        )
    )
    points = alt.Chart(marks_data).mark_point(size=16, filled=True).encode(x=x, y=y, color=color)
    chosen = (
        alt.Chart(data)
        .mark_point(size=40, filled=True)
        .encode(x=x, y=y, color=color, opacity=_visible(alt, near, 1))
    )
    rule = (
        alt.Chart(data)
        .transform_pivot("series", value="y", groupby=["x"])
        .mark_rule(color="#888888", tooltip={"content": "data"})
        .encode(x=x, opacity=_visible(alt, near, 0.6))
        .add_params(near)
    )
    return alt.layer(seen, chance, bands, lines, points, chosen, rule).properties(
        width="container", height=210
    )


def _line(alt: Any) -> Any:
    """One quantity of a run over its steps or lengths."""
    near = _near(alt)
    base = alt.Chart(alt.NamedData("line")).encode(
        x=alt.X("x:Q").title("").scale(nice=False), y=alt.Y("y:Q").title("").scale(zero=False)
    )
    points = base.mark_point(size=30, filled=True, tooltip={"content": "data"}).encode(
        opacity=_visible(alt, near, 1)
    )
    lines = base.mark_line(strokeWidth=1.8, color="#0a7fc4")
    return alt.layer(lines, points.add_params(near)).properties(width="container", height=170)


def _visible(alt: Any, near: Any, opacity: float) -> Any:
    return alt.when(near).then(alt.value(opacity)).otherwise(alt.value(0))
