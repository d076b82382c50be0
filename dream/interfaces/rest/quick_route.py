"""Checks the parameters of a request in one go: one by one, they are nearly half of the calls that a search makes."""

from collections.abc import Awaitable, Callable, Coroutine
from inspect import iscoroutinefunction
from typing import Any, cast, get_args, get_origin

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import ValidationError, create_model


class QuickRoute(APIRoute):
    """A route that reads its path and its query by one model; what it cannot take, FastAPI looks at and says.

    What answers must be a coroutine that returns a response. Routes with a body or headers are read by FastAPI alone.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        thorough, endpoint = super().get_route_handler(), self.endpoint
        needed = self.dependant.dependencies
        if any(one.dependencies for one in needed) or not all(map(_is_plain, (self.dependant, *needed))):
            return thorough
        own = _reader(self.dependant)
        calls = [(str(one.name), cast("Callable[..., Awaitable[Any]]", one.call), _reader(one)) for one in needed]

        async def answer(request: Request) -> Response:
            try:
                values = own(request)
                asked = [(name, call, read(request)) for name, call, read in calls]
            except ValidationError:
                return await thorough(request)
            for name, call, arguments in asked:
                values[name] = await call(**arguments)
            return await endpoint(**values)

        return answer


def _is_plain(needs: Dependant) -> bool:
    return iscoroutinefunction(needs.call) and not (needs.header_params or needs.cookie_params or needs.body_params)


def _reader(needs: Dependant) -> Callable[[Request], dict[str, Any]]:
    """Return what reads the arguments of one function from a request."""
    fields = {field.name: field for field in (*needs.path_params, *needs.query_params)}
    parts: dict[str, Any] = {name: (field.field_info.annotation, field.field_info) for name, field in fields.items()}
    lists = [field.alias for field in needs.query_params if _is_list(field.field_info.annotation)]
    model, name_of_request = create_model("Parameters", **parts), needs.request_param_name

    def read(request: Request) -> dict[str, Any]:
        sent = {**request.query_params, **request.path_params}
        sent.update({name: request.query_params.getlist(name) for name in lists if name in sent})
        checked = model.model_validate(sent)
        values = {name: getattr(checked, name) for name in fields}
        if name_of_request is not None:
            values[name_of_request] = request
        return values

    return read


def _is_list(annotation: object) -> bool:
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))
