"""The two groups of a new installation, and the backend that gives every user the permissions of "Everybody".

Why so: runs/DESIGN.md, Rights.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, Q

EVERYBODY = "Everybody"
REVIEWERS = "Reviewers"
DEFAULT_PERMISSIONS = {
    EVERYBODY: (
        "judgements.add_council",
        "judgements.own_agents",
        "debates.add_panel",
        "plans.add_team",
        "missions.add_crew",
        "inquiries.add_roster",
    ),
    REVIEWERS: ("engine.view_run", "engine.export_run", "engine.add_review"),
}


class EverybodyBackend(BaseBackend):
    """Gives every active user the permissions of the group "Everybody", member or not.

    Administrators grant or revoke a permission for all users by changing that group. It may be deleted.

    The backend also reads the user's own permissions and those of their groups, in one query where Django's backend
    takes two. It therefore decides alone: a permission that it does not find is denied.
    """

    def get_user(self, user_id: int) -> Any:
        return ModelBackend().get_user(user_id)

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        if not user_obj.is_active or user_obj.is_anonymous or obj is not None:
            return set()
        if not hasattr(user_obj, "_permission_names"):  # cached on the user object, as Django does it
            user_obj._permission_names = names_of(permissions_of(user_obj))
        return user_obj._permission_names

    async def aget_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        return await sync_to_async(self.get_all_permissions)(user_obj, obj)

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return true_or_deny(super().has_perm(user_obj, perm, obj))

    async def ahas_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return true_or_deny(await super().ahas_perm(user_obj, perm, obj))

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return true_or_deny(any(name.startswith(f"{app_label}.") for name in self.get_all_permissions(user_obj)))

    async def ahas_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return await sync_to_async(self.has_module_perms)(user_obj, app_label)

    def with_perm(self, perm: str, *_: Any, **__: Any) -> Any:
        """The active users who have the permission through "Everybody": all of them or none."""
        app, codename = perm.split(".")
        given = Permission.objects.filter(group__name=EVERYBODY, content_type__app_label=app, codename=codename)
        return User.objects.filter(Exists(given), is_active=True)


def true_or_deny(found: bool) -> bool:
    if not found:
        raise PermissionDenied  # makes Django ask no further backend
    return True


def permissions_of(user: Any) -> Any:
    """A user's own permissions and those of their groups and of Everybody, whether the user is active or not."""
    groups = Group.objects.filter(Q(name=EVERYBODY) | Q(pk__in=user.groups.values("pk")))
    own, of_groups = User.user_permissions.through.objects, Group.permissions.through.objects
    return Permission.objects.filter(
        Q(pk__in=own.filter(user=user).values("permission"))
        | Q(pk__in=of_groups.filter(group__in=groups).values("permission"))
    )


def names_of(permissions: Any) -> set[str]:
    return {f"{app}.{codename}" for app, codename in permissions.values_list("content_type__app_label", "codename")}


def create_groups(
    groups: Any = Group.objects,
    permissions: Any = Permission.objects,
    first: Mapping[str, Sequence[str]] = DEFAULT_PERMISSIONS,
) -> None:
    """Create the missing groups with their first permissions. A group that exists is not changed."""
    for name, rights in first.items():
        group, new = groups.get_or_create(name=name)
        if new:
            sought = Q()
            for right in rights:
                app, codename = right.split(".")
                sought |= Q(content_type__app_label=app, codename=codename)
            group.permissions.set(permissions.filter(sought))
