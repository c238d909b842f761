from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from engine import terminal
from magi_site.models import LONGEST_LIFE, NAME_LENGTH, USUAL_DAYS, Token, read_scopes
from runs.api.scopes import USUAL, Scope


class Command(terminal.Command):
    help = "Make a token for the API. It is printed once and kept nowhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="its user: with the token one may do what this user may")
        parser.add_argument("--name", default="", help="what it is for, so that it can be told from others")
        parser.add_argument(
            "--expires",
            metavar="DAYS",
            type=int,
            default=USUAL_DAYS,
            help=f"number of days for which it is valid (default: {USUAL_DAYS}); 0: until it is revoked",
        )
        parser.add_argument(
            "--scopes",
            metavar="LIST",
            default=",".join(USUAL),
            help=f"what it may do beside reading: {', '.join(Scope.values)}, with commas, each alone or for one kind "
            f"of work as in submit:judgement (default: {','.join(USUAL)})",
        )

    def handle(self, *, user: str, name: str, expires: int, scopes: str, **options: Any) -> None:
        owner = get_user_model().objects.filter(username=user).first()
        if owner is None or not owner.is_active:
            raise CommandError(f"There is no active user “{user}”.")
        if not 0 <= expires <= LONGEST_LIFE:
            raise CommandError(
                f"--expires takes 1 to {LONGEST_LIFE:,} days, or 0 for a token that holds until revoked."
            )
        if len(name) > NAME_LENGTH:
            raise CommandError(f"--name: it has at most {NAME_LENGTH} characters.")
        try:
            allowed = read_scopes(scopes)
        except ValueError as error:
            raise CommandError(f"--scopes: {error}") from error
        self.stdout.write(Token.objects.make(owner, name, expires, allowed).secret)
