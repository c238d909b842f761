from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from engine import console
from magi_site.models import DEFAULT_DAYS, MAX_DAYS, NAME_LENGTH, Token, read_scopes
from runs.api.scopes import DEFAULT_SCOPES, TokenScope


class Command(console.ConsoleCommand):
    help = "Make a token for the API. It is printed once and kept nowhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="its user: with the token one may do what this user may")
        parser.add_argument("--name", default="", help="what it is for, so that it can be told from others")
        parser.add_argument(
            "--expires",
            metavar="DAYS",
            type=int,
            default=DEFAULT_DAYS,
            help=f"number of days for which it is valid (default: {DEFAULT_DAYS}); 0: until it is revoked",
        )
        parser.add_argument(
            "--scopes",
            metavar="LIST",
            default=",".join(DEFAULT_SCOPES),
            help=f"what it may do beside reading: {', '.join(TokenScope.values)}, with commas, each alone or for one "
            "kind "
            f"of work as in submit:judgement (default: {','.join(DEFAULT_SCOPES)})",
        )

    def handle(self, *, user: str, name: str, expires: int, scopes: str, **options: Any) -> None:
        owner = get_user_model().objects.filter(username=user).first()
        if owner is None or not owner.is_active:
            raise CommandError(f"There is no active user “{user}”.")
        if not 0 <= expires <= MAX_DAYS:
            raise CommandError(f"--expires takes 1 to {MAX_DAYS:,} days, or 0 for a token that holds until revoked.")
        if len(name) > NAME_LENGTH:
            raise CommandError(f"--name: it has at most {NAME_LENGTH} characters.")
        try:
            allowed = read_scopes(scopes)
        except ValueError as error:
            raise CommandError(f"--scopes: {error}") from error
        self.stdout.write(Token.objects.make(owner, name, expires, allowed).secret)
