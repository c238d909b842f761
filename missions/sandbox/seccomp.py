"""The seccomp filter of the sandbox: system calls that namespaces do not confine.

It is written for x86-64; on other machines there is no filter, and missions cannot run commands.

Why so: missions/DESIGN.md, The sandbox.
"""

import errno
import platform
import struct

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000  # SECCOMP_RET_* of linux/seccomp.h
LOAD, EQUAL, ABOVE, AT_LEAST, ANY_BIT, GIVE = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06  # BPF: ld, jeq, jgt, jge, jset, ret
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
X86_64 = 0xC000003E
X32 = 0x40000000  # bit of the x32 ABI, which has the same calls under other numbers

# no program in a workspace needs these; each reaches kernel code that has been used for escapes
DENIED_CALLS = {
    **{"acct": 163, "add_key": 248, "bpf": 321, "chroot": 161, "clock_settime": 227, "delete_module": 176},
    **{"fanotify_init": 300, "finit_module": 313, "fsconfig": 431, "fsmount": 432, "fsopen": 430, "fspick": 433},
    **{"init_module": 175, "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425, "ioperm": 173},
    **{"iopl": 172, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "lookup_dcookie": 212},
    **{"modify_ldt": 154, "mount": 165, "mount_setattr": 442, "move_mount": 429, "move_pages": 279},
    **{"name_to_handle_at": 303, "nfsservctl": 180, "open_by_handle_at": 304, "open_tree": 428},
    **{"perf_event_open": 298, "pidfd_getfd": 438, "pivot_root": 155, "process_vm_readv": 310},
    **{"process_vm_writev": 311, "ptrace": 101, "quotactl": 179, "quotactl_fd": 443, "reboot": 169},
    **{"request_key": 249, "setdomainname": 171, "sethostname": 170, "setns": 308, "settimeofday": 164},
    **{"swapoff": 168, "swapon": 167, "syslog": 103, "umount2": 166, "unshare": 272, "uselib": 134},
    **{"userfaultfd": 323, "ustat": 136, "vhangup": 153, "_sysctl": 156},
}
CLONE, CLONE3, SOCKET, SOCKETPAIR, IOCTL = 56, 435, 41, 53, 16
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* together
UNIX = (1,)
ADDRESS_FAMILIES = (
    *UNIX,
    2,
    10,
)  # and IPv4, IPv6: what a server on loopback needs. A network namespace does not confine vsock
NETLINK, ROUTES = 16, 0  # used by getaddrinfo
# memory that belongs to no process, so that measuring processes misses it. Programs continue without it
MEMFD_CREATE, MEMFD_SECRET, SHMGET, SEMGET, MSGGET = 319, 447, 29, 64, 68
SHARED_BYTES, SEMAPHORES = 64 * 1024, 32  # per segment and per set; the kernel allows 4,096 segments and 32,000 sets
SETSOCKOPT, OF_SOCKETS, LONGER_BUFFERS = 54, 1, (7, 32)  # SOL_SOCKET; SO_SNDBUF, SO_SNDBUFFORCE
TERMINAL_INJECTION_CALLS = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX inject input into a terminal

Instruction = tuple[int, int, int, int]


def available() -> bool:
    return platform.machine() == "x86_64"


def filter_bytes(families: tuple[int, ...] = ADDRESS_FAMILIES) -> bytes:
    """The filter for `bwrap --seccomp` (struct sock_filter[]). `families` are the allowed socket families."""
    return b"".join(struct.pack("=HBBI", *one) for one in _program(families))


def _program(families: tuple[int, ...]) -> list[Instruction]:
    number = (LOAD, 0, 0, NUMBER)
    refused = [one for call in DENIED_CALLS.values() for one in _on(call, [_refuse()])]
    return [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, X86_64),
        (GIVE, 0, 0, KILL),
        number,
        (AT_LEAST, 0, 1, X32),
        (GIVE, 0, 0, KILL),
        *refused,
        *_on(
            CLONE3, [_refuse(errno.ENOSYS)]
        ),  # filters cannot read its flags, which are in memory; libc falls back to clone
        *_on(CLONE, [_argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES), _refuse(), _allow()]),
        *(one for call in (MEMFD_CREATE, MEMFD_SECRET, MSGGET) for one in _on(call, [_refuse(errno.ENOSYS)])),
        *_on(SHMGET, _at_most(1, SHARED_BYTES)),
        *_on(SEMGET, _at_most(1, SEMAPHORES)),
        *_on(IOCTL, [_argument(1), *_each(TERMINAL_INJECTION_CALLS, _refuse()), _allow()]),
        # pretends success: the buffer keeps its default size, and programs may not rely on another one
        *_on(
            SETSOCKOPT,
            [_argument(1), (EQUAL, 0, 5, OF_SOCKETS), _argument(2), *_each(LONGER_BUFFERS, _refuse(0)), _allow()],
        ),
        *_on(SOCKET, _by_family(families)),
        *_on(SOCKETPAIR, _by_family(families)),
        _allow(),
    ]


def _by_family(families: tuple[int, ...]) -> list[Instruction]:
    """Allow these families, and netlink for routes only."""
    netlink = [(EQUAL, 0, 3, NETLINK), _argument(2), (EQUAL, 0, 1, ROUTES), _allow()] if families != UNIX else []
    return [_argument(0), *_each(families, _allow()), *netlink, _refuse(errno.EAFNOSUPPORT)]


def _at_most(place: int, most: int) -> list[Instruction]:
    """Allow the call if a 64-bit argument is at most `most`: upper half 0, lower half compared."""
    upper = (LOAD, 0, 0, ARGUMENTS + 8 * place + 4)
    return [
        upper,
        (EQUAL, 1, 0, 0),
        _refuse(errno.ENOSPC),
        _argument(place),
        (ABOVE, 0, 1, most),
        _refuse(errno.ENOSPC),
        _allow(),
    ]


def _on(call: int, then: list[Instruction]) -> list[Instruction]:
    """Instructions for one call. They end in a decision, so that for other calls the number is still loaded."""
    return [(EQUAL, 0, len(then), call), *then]


def _each(values: tuple[int, ...], decision: Instruction) -> list[Instruction]:
    return [one for value in values for one in ((EQUAL, 0, 1, value), decision)]


def _argument(place: int) -> Instruction:
    """Load the lower half of an argument, which is all that these calls read."""
    return (LOAD, 0, 0, ARGUMENTS + 8 * place)


def _refuse(error: int = errno.EPERM) -> Instruction:
    return (GIVE, 0, 0, ERROR | error)


def _allow() -> Instruction:
    return (GIVE, 0, 0, ALLOW)
