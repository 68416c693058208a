// Paths by C++'s library: std::filesystem and std::ifstream.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#define CHECK(claim)                                                                                                   \
    do {                                                                                                               \
        if (!(claim)) {                                                                                                \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim);                                   \
            std::exit(1);                                                                                              \
        }                                                                                                              \
        claims++;                                                                                                      \
    } while (0)

namespace fs = std::filesystem;

int main() {
    int claims = 0, nodes = 0;
    for (const auto &entry : fs::directory_iterator("/dev/dri")) nodes += entry.is_character_file();
    CHECK(nodes == 2);
    CHECK(fs::exists("/dev/dri/card0"));
    CHECK(!fs::exists("/dev/dri/card9"));
    CHECK(fs::is_character_file("/dev/dri/renderD128"));
    CHECK(fs::canonical("/sys/dev/char/226:0/device").string().rfind("/sys/devices/pci0000:00/", 0) == 0);
    CHECK(fs::read_symlink("/sys/class/drm/card0").string().find("/drm/card0") != std::string::npos);
    std::ifstream file("/sys/class/drm/card0/device/vendor");
    std::string vendor;
    CHECK(std::getline(file, vendor));
    CHECK(vendor == "0x8086");
    nodes = 0;
    for (const auto &entry : fs::recursive_directory_iterator("/dev/dri")) nodes += entry.is_symlink();
    CHECK(nodes == 2);
    std::printf("%d claims\n", claims);
}
