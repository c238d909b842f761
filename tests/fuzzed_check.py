"""Read by schemathesis, in its environment: of a body that is as described, no length, type or field is refused.

That a model is not known here, or a word has no letter, no description can say: that is refused in a sentence, by
422, which `tests.fuzzed` lets pass where bodies have such things. This looks that it lets pass nothing else. To a
description 1.0 is a whole number, too; here it is none.
"""

import re

import schemathesis

OF_FORM = re.compile(
    "Input should|Field required|should have at (least|most)|characters? too long|not permitted|no such parameter"
)


@schemathesis.check
def refused_by_words_alone(ctx, response, case):
    mode = case.meta.generation.mode if case.meta else None
    if response.status_code == 422 and mode and mode.is_positive:
        said = [one["message"] for one in response.json().get("errors", ())]
        said = [one for one in said if one != "Input should be a valid integer" or not _has_a_whole_float(case.body)]
        assert not [one for one in said if OF_FORM.search(one)], f"It is as described, and refused: {said}"


def _has_a_whole_float(value):
    if isinstance(value, dict | list):
        return any(map(_has_a_whole_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer()
