/* An independent probe: tries one thing and says whether it got through. Nothing of Assent's is used here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int say(long result) {
    if (result >= 0) { printf("GOT THROUGH\n"); return 0; }
    printf("blocked: %s\n", strerrorname_np(errno));
    return 1;
}

static int connect_unix(const char *path, int abstract) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s < 0) return say(-1);
    strncpy(to.sun_path + abstract, path, sizeof to.sun_path - 2);
    return say(connect(s, (struct sockaddr *)&to, sizeof(sa_family_t) + strlen(path) + 1));
}

static int connect_tcp(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0) return say(-1);
    return say(connect(s, (struct sockaddr *)&to, sizeof to));
}

/* A pair of datagram sockets can be sent anywhere, though it was never bound or connected by hand. */
static int pair(int type, const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int s[2];
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    if (socketpair(AF_UNIX, type, 0, s)) return say(-1);
    if (type == SOCK_DGRAM || type == SOCK_RAW) return say(sendto(s[0], "x", 1, 0, (struct sockaddr *)&to, sizeof to));
    return say(connect(s[0], (struct sockaddr *)&to, sizeof to));
}

static int child_init(void *arg) { (void)arg; return 0; }

static int foreign(const char *abi) {
    /* In a child: a filter that kills is as good as one that refuses. */
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        long result = -1;
#if defined(__x86_64__)
        if (!strcmp(abi, "x32")) {
            result = syscall(0x40000000 | SYS_getpid);
        } else {
            /* getpid by the 32-bit gate */
            __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
        }
#endif
        _exit(result > 0 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) { printf("blocked: signal %d\n", WTERMSIG(status)); return 1; }
    if (WEXITSTATUS(status)) { printf("blocked: refused\n"); return 1; }
    printf("GOT THROUGH\n");
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";
    static char stack[65536];
    char character = '\n';
    if (!strcmp(what, "unix")) return connect_unix(arg, 0);
    if (!strcmp(what, "abstract")) return connect_unix(arg, 1);
    if (!strcmp(what, "pair-dgram")) return pair(SOCK_DGRAM, arg);
    if (!strcmp(what, "pair-raw")) return pair(SOCK_RAW, arg);
    if (!strcmp(what, "pair-stream")) return pair(SOCK_STREAM, arg);
    if (!strcmp(what, "pair-seqpacket")) return pair(SOCK_SEQPACKET, arg);
    if (!strcmp(what, "pair-tipc")) { int s[2]; return say(socketpair(30, SOCK_STREAM, 0, s)); }
    if (!strcmp(what, "chmod")) return say(syscall(SYS_chmod, arg, 04755));
    if (!strcmp(what, "fchmod")) return say(syscall(SYS_fchmod, open(arg, O_RDONLY), 04755));
    if (!strcmp(what, "fchmodat")) return say(syscall(SYS_fchmodat, AT_FDCWD, arg, 04755));
    if (!strcmp(what, "fchmodat2")) return say(syscall(452, AT_FDCWD, arg, 04755, 0));
    if (!strcmp(what, "open")) return say(syscall(SYS_open, "made", O_CREAT | O_WRONLY, 04755));
    if (!strcmp(what, "openat")) return say(syscall(SYS_openat, AT_FDCWD, "made", O_CREAT | O_WRONLY, 04755));
    if (!strcmp(what, "tmpfile")) return say(syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 04755));
    if (!strcmp(what, "creat")) return say(syscall(SYS_creat, "made", 04755));
    if (!strcmp(what, "mknod")) return say(syscall(SYS_mknod, "made", 0104755, 0));
    if (!strcmp(what, "mknodat")) return say(syscall(SYS_mknodat, AT_FDCWD, "made", 0104755, 0));
    if (!strcmp(what, "openat2")) {
        uint64_t how[3] = {O_CREAT | O_WRONLY, 04755, 0};
        return say(syscall(SYS_openat2, AT_FDCWD, "made", how, sizeof how));
    }
    if (!strcmp(what, "open-there")) return say(syscall(SYS_open, arg, O_RDONLY, 04755)); /* makes nothing */
    if (!strcmp(what, "tcp")) return connect_tcp(atoi(arg));
    if (!strcmp(what, "vsock")) return say(socket(AF_VSOCK, SOCK_STREAM, 0));
    if (!strcmp(what, "packet")) return say(socket(AF_PACKET, SOCK_RAW, 0));
    if (!strcmp(what, "tiocsti")) return say(ioctl(0, TIOCSTI, &character));
    if (!strcmp(what, "tiocsti-high")) return say(syscall(SYS_ioctl, 0, (1UL << 32) | TIOCSTI, &character));
    if (!strcmp(what, "tioclinux")) { character = 3; return say(ioctl(0, TIOCLINUX, &character)); }
    if (!strcmp(what, "ptrace")) return say(ptrace(PTRACE_TRACEME, 0, 0, 0));
    if (!strcmp(what, "process_vm_readv")) return say(syscall(SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0));
    if (!strcmp(what, "keyctl")) return say(syscall(SYS_keyctl, 0, -3, 1));
    if (!strcmp(what, "add_key")) return say(syscall(SYS_add_key, "user", "x", "y", 1, -3));
    if (!strcmp(what, "bpf")) { char attr[128] = {1}; return say(syscall(SYS_bpf, 0, attr, sizeof attr)); }
    if (!strcmp(what, "perf")) { char attr[128] = {0}; return say(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0)); }
    if (!strcmp(what, "io_uring")) { char params[256] = {0}; return say(syscall(SYS_io_uring_setup, 4, params)); }
    if (!strcmp(what, "userfaultfd")) return say(syscall(SYS_userfaultfd, 1));
    if (!strcmp(what, "mount")) return say(mount("none", "/tmp", "tmpfs", 0, 0));
    if (!strcmp(what, "umount")) return say(umount2("/proc", MNT_DETACH));
    if (!strcmp(what, "open_tree")) return say(syscall(SYS_open_tree, AT_FDCWD, "/", 1));
    if (!strcmp(what, "fsopen")) return say(syscall(SYS_fsopen, "tmpfs", 0));
    if (!strcmp(what, "unshare")) return say(unshare(CLONE_NEWUSER));
    if (!strcmp(what, "unshare-mount")) return say(unshare(CLONE_NEWNS));
    if (!strcmp(what, "clone")) return say(clone(child_init, stack + sizeof stack, CLONE_NEWUSER | SIGCHLD, 0));
    if (!strcmp(what, "clone3")) {
        struct { uint64_t flags, a[10]; } args = {.flags = CLONE_NEWUSER};
        long pid = syscall(SYS_clone3, &args, 64);
        if (pid == 0) _exit(0);
        return say(pid);
    }
    if (!strcmp(what, "setns")) { int f = open("/proc/self/ns/user", O_RDONLY); return say(setns(f, 0)); }
    if (!strcmp(what, "chroot")) return say(chroot("/tmp"));
    if (!strcmp(what, "kexec")) return say(syscall(SYS_kexec_load, 0, 0, 0, 0));
    if (!strcmp(what, "reboot")) return say(syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0));
    if (!strcmp(what, "module")) return say(syscall(SYS_init_module, "", 0, ""));
    if (!strcmp(what, "handle")) return say(syscall(SYS_open_by_handle_at, AT_FDCWD, stack, 0));
    if (!strcmp(what, "x32") || !strcmp(what, "i386")) return foreign(what);
    if (!strcmp(what, "nnp")) { printf("%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)); return 0; }
    if (!strcmp(what, "fds")) { /* everything open beyond the three streams */
        for (int fd = 3; fd < 4096; fd++) if (fcntl(fd, F_GETFD) != -1) { printf("open: %d\n", fd); return 0; }
        printf("none\n");
        return 0;
    }
    if (!strcmp(what, "forks")) { /* fork as often as it may, all of them alive */
        int made = 0;
        while (made < 4000) {
            pid_t pid = fork();
            if (pid == 0) { pause(); _exit(0); }
            if (pid < 0) break;
            made++;
        }
        printf("%d\n", made);
        fflush(stdout);
        _exit(0);
    }
    if (!strcmp(what, "memory")) { printf("%s\n", malloc((size_t)atol(arg)) ? "GOT THROUGH" : "blocked"); return 0; }
    printf("unknown probe\n");
    return 2;
}
