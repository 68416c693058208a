/* Paths: nodes, sysfs and /proc as programs look at them. Arguments: the number of devices, and `paths` for no request on a device. */

#include "check.h"

#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <sys/sysmacros.h>

/* Checks what stat(2) says of a node. */
static void is_node(const struct stat *stat, unsigned minor_number) {
    CHECK(S_ISCHR(stat->st_mode));
    SAME(major(stat->st_rdev), 226);
    SAME(minor(stat->st_rdev), minor_number);
}

static void described(int devices) {
    struct stat one;
    struct statx parts;
    for (unsigned n = 0; n < (unsigned)devices; n++) {
        char card[64], render[64];
        snprintf(card, sizeof card, "/dev/dri/card%u", n);
        snprintf(render, sizeof render, "/dev/dri/renderD%u", 128 + n);
        OK(stat(card, &one));
        is_node(&one, n);
        OK(lstat(render, &one));
        is_node(&one, 128 + n);
        OK(fstatat(AT_FDCWD, render, &one, 0));
        is_node(&one, 128 + n);
        OK(statx(AT_FDCWD, render, 0, STATX_ALL, &parts));
        CHECK(S_ISCHR(parts.stx_mode));
        SAME(parts.stx_rdev_major, 226);
        SAME(parts.stx_rdev_minor, 128 + n);
        /* An open file is its node. */
        struct stat opened;
        int fd = open_node(render);
        OK(fstat(fd, &opened));
        is_node(&opened, 128 + n);
        SAME(opened.st_dev, one.st_dev);
        SAME(opened.st_ino, one.st_ino);
        OK(fstatat(fd, "", &opened, AT_EMPTY_PATH));
        is_node(&opened, 128 + n);
        SAME(opened.st_ino, one.st_ino);
        OK(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &parts));
        SAME(parts.stx_rdev_minor, 128 + n);
        SAME(makedev(parts.stx_dev_major, parts.stx_dev_minor), one.st_dev);
        SAME(parts.stx_ino, one.st_ino);
        OK(close(fd));
        OK(access(card, R_OK | W_OK));
        OK(faccessat(AT_FDCWD, card, R_OK, 0));
        OK(eaccess(render, R_OK));
    }
    FAILS(stat("/dev/dri/card9", &one), ENOENT);
    FAILS(open("/dev/dri/card9", O_RDWR), ENOENT);
    FAILS(access("/dev/dri/renderD999", F_OK), ENOENT);
    /* The program's own sockets stay sockets. */
    int pair[2];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    OK(fstat(pair[0], &one));
    CHECK(S_ISSOCK(one.st_mode));
    close(pair[0]), close(pair[1]);
}

/* Returns how often a folder has an entry of a name; of another kind of folder, and after a second reading, none. */
static int has(const char *path, const char *name) {
    DIR *folder = opendir(path);
    CHECK(folder);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        found += !strcmp(entry->d_name, name);
        // The entry is the program's to change.
        entry->d_name[0] = 0;
    }
    CHECK(!readdir(folder));
    OK(closedir(folder));
    return found;
}

static int is_card(const struct dirent *entry) { return strncmp(entry->d_name, "card", 4) == 0; }

static void listed(int devices) {
    /* Also on a machine without a GPU of its own. */
    SAME(has("/dev", "dri"), 1);
    SAME(has("/sys/class/", "drm"), 1);
    SAME(has("/sys", "drm"), 0);
    DIR *folder = opendir("/dev/dri");
    CHECK(folder != NULL);
    int nodes = 0, folders = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_type == DT_CHR) nodes++;
        if (strcmp(entry->d_name, "by-path") == 0) folders += entry->d_type == DT_DIR;
        CHECK(entry->d_type == DT_CHR || entry->d_type == DT_DIR);
        /* Opened relative to the folder. */
        if (is_card(entry)) {
            int fd = openat(dirfd(folder), entry->d_name, O_RDWR);
            CHECK(fd >= 0);
            CHECK(get(fd, I915_PARAM_CHIPSET_ID) != 0);
            struct stat one;
            OK(fstatat(dirfd(folder), entry->d_name, &one, 0));
            CHECK(S_ISCHR(one.st_mode));
            OK(close(fd));
        }
    }
    OK(closedir(folder));
    SAME(nodes, 2 * devices);
    SAME(folders, 1);
    struct dirent **entries;
    SAME(scandir("/dev/dri", &entries, is_card, alphasort), devices);
    SAME(strcmp(entries[0]->d_name, "card0"), 0);
    glob_t found;
    OK(glob("/dev/dri/renderD*", 0, NULL, &found));
    SAME(found.gl_pathc, devices);
    SAME(strcmp(found.gl_pathv[0], "/dev/dri/renderD128"), 0);
    globfree(&found);
    OK(glob("/sys/class/drm/card[0-9]", 0, NULL, &found));
    SAME(found.gl_pathc, devices);
    globfree(&found);
    SAME(glob("/dev/dri/none*", 0, NULL, &found), GLOB_NOMATCH);
}

static int visited;

static int visit(const char *path, const struct stat *stat, int type, struct FTW *where) {
    (void)where;
    CHECK(strncmp(path, "/dev/dri", 8) == 0);
    if (type == FTW_F && S_ISCHR(stat->st_mode)) visited++;
    return 0;
}

static void walked(int devices) {
    OK(nftw("/dev/dri", visit, 8, FTW_PHYS));
    SAME(visited, 2 * devices);
}

/* Reads a file's first line. */
static void line_of(const char *path, char line[256]) {
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(line, 256, file) != NULL);
    OK(fclose(file));
    line[strcspn(line, "\n")] = 0;
}

static void in_sysfs(int devices) {
    char line[256], path[128], text[PATH_MAX];
    long ids[8];
    for (int n = 0; n < devices && n < 8; n++) {
        snprintf(path, sizeof path, "/sys/dev/char/226:%d/device/vendor", 128 + n);
        line_of(path, line);
        SAME(strtol(line, NULL, 0), 0x8086);
        snprintf(path, sizeof path, "/sys/class/drm/renderD%d/device/device", 128 + n);
        line_of(path, line);
        ids[n] = strtol(line, NULL, 0);
        snprintf(path, sizeof path, "/dev/dri/renderD%d", 128 + n);
        int fd = open_node(path);
        SAME(get(fd, I915_PARAM_CHIPSET_ID), ids[n]);
        OK(close(fd));
        snprintf(path, sizeof path, "/sys/dev/char/226:%d/device/subsystem", n);
        ssize_t len = readlink(path, text, sizeof text);
        CHECK(len > 4);
        SAME(memcmp(text + len - 4, "/pci", 4), 0);
        snprintf(path, sizeof path, "/sys/dev/char/226:%d/device", n);
        CHECK(realpath(path, text) == text);
        SAME(strncmp(text, "/sys/devices/pci0000:00/0000:00:0", 33), 0);
        char *resolved = canonicalize_file_name(path);
        CHECK(resolved != NULL);
        SAME(strcmp(resolved, text), 0);
        free(resolved);
    }
    if (devices > 1) CHECK(ids[0] != ids[1]);
}

/* Descriptors in /proc. */
static void in_proc(void) {
    char path[64], text[PATH_MAX];
    int fd = open_node("/dev/dri/renderD128"), id = get(fd, I915_PARAM_CHIPSET_ID);
    static const char *const forms[] = {"/proc/self/fd/%d", "/dev/fd/%d"};
    for (int n = 0; n < 2; n++) {
        snprintf(path, sizeof path, forms[n], fd);
        ssize_t len = readlink(path, text, sizeof text);
        SAME(len, 19);
        SAME(memcmp(text, "/dev/dri/renderD128", 19), 0);
        /* Another file of the device: without the handles of the first. */
        create(fd, PAGE);
        int again = open(path, O_RDWR | O_CLOEXEC);
        CHECK(again >= 0);
        SAME(get(again, I915_PARAM_CHIPSET_ID), id);
        SAME(create(again, PAGE), 1);
        OK(close(again));
        struct stat one;
        OK(stat(path, &one));
        is_node(&one, 128);
    }
    CHECK(realpath(path, text) == text);
    SAME(strcmp(text, "/dev/dri/renderD128"), 0);
    OK(close(fd));
}

/* Relative paths. */
static void relative(void) {
    struct stat one;
    char place[PATH_MAX];
    OK(chdir("/dev"));
    OK(stat("dri/card0", &one));
    is_node(&one, 0);
    OK(chdir("/dev/dri"));
    int fd = open("renderD128", O_RDWR);
    CHECK(fd >= 0);
    OK(close(fd));
    OK(stat("./card0", &one));
    is_node(&one, 0);
    CHECK(getcwd(place, sizeof place) == place);
    SAME(strcmp(place, "/dev/dri"), 0);
    OK(chdir("/"));
    fd = open("dev/dri/../dri//card0", O_RDWR);
    CHECK(fd >= 0);
    OK(close(fd));
    int folder = open("/dev/dri", O_RDONLY | O_DIRECTORY);
    CHECK(folder >= 0);
    fd = openat(folder, "card0", O_RDWR);
    CHECK(fd >= 0);
    OK(close(fd));
    OK(close(folder));
    folder = open("/dev", O_RDONLY | O_DIRECTORY);
    CHECK(folder >= 0);
    fd = openat(folder, "dri/card0", O_RDWR);
    CHECK(fd >= 0);
    CHECK(get(fd, I915_PARAM_CHIPSET_ID) != 0);
    OK(close(fd));
    OK(close(folder));
}

/* The module of the first device's driver, from each folder on the way; if there are no others, the other driver has none. */
static void in_modules(int devices) {
    char link[PATH_MAX], path[PATH_MAX + 64];
    ssize_t len = readlink("/sys/class/drm/card0/device/driver", link, sizeof link - 1);
    CHECK(len > 0);
    link[len] = 0;
    const char *driver = strrchr(link, '/') + 1;
    int is_xe = strcmp(driver, "xe") == 0;
    CHECK(is_xe || strcmp(driver, "i915") == 0);
    static const char *const folders[] = {"/", "/sys", "/sys/module"}, *const rests[] = {"sys/module/", "module/", ""};
    for (int n = 0; n < 3; n++) {
        OK(chdir(folders[n]));
        for (int dots = 0; dots < 2; dots++) {
            snprintf(path, sizeof path, "%s%s%s/parameters/%s", dots ? "./" : "", rests[n], driver, is_xe ? "probe_display" : "modeset");
            OK(access(path, R_OK));
            snprintf(path, sizeof path, "%s%s%s", dots ? "./" : "", rests[n], is_xe ? "i915" : "xe");
            if (devices == 1) FAILS(access(path, F_OK), ENOENT);
        }
    }
    snprintf(path, sizeof path, "/sys//module/./%s/parameters", driver);
    OK(access(path, R_OK));
    snprintf(path, sizeof path, "/sys/bus/pci/drivers/%s/0000:00:02.0", driver);
    OK(access(path, R_OK));
}

int main(int count, char **arguments) {
    int devices = count > 1 ? atoi(arguments[1]) : 1;
    in_modules(devices);
    described(devices);
    walked(devices);
    if (count > 2 && strcmp(arguments[2], "paths") == 0) return done();
    listed(devices);
    in_sysfs(devices);
    in_proc();
    relative();
    return done();
}
