// The header in C++, and the library behind it.

#include "check.h"

#include <cstdint>
#include <vector>

int main() {
    gemco_device *device = nullptr;
    gemco_bo *bo = nullptr;
    OK(gemco_device_open("sim:jsl", 0, &device));
    OK(gemco_bo_create(device, 4096, GEMCO_CACHING_CACHED, &bo));
    const std::vector<std::uint8_t> fresh(100, 0xa5);
    OK(gemco_bo_write(bo, 60, fresh.data(), fresh.size(), nullptr));
    gemco_submission submission = {};
    submission.bo = bo;
    submission.access = GEMCO_READ;
    submission.mocs = GEMCO_MOCS_BYPASS_LLC;
    gemco_report report = {};
    OK(submit_nothing(device, &submission, 1, &report));
    BY_RULE(report.decision, "bypass-mocs-read");
    // Either all lines, with the zeroes of new pages, or only the three.
    CHECK(report.lines == 3 || report.lines == 64);
    std::vector<std::uint8_t> seen(fresh.size());
    OK(gemco_sim_gpu_read(device, bo, GEMCO_MOCS_BYPASS_LLC, 60, seen.data(), seen.size()));
    CHECK(seen == fresh);
    FAILS(gemco_bo_write(nullptr, 0, nullptr, 0, nullptr), EINVAL, "bo is NULL");
    gemco_bo_unref(bo);
    gemco_device_unref(device);
    printf("%d claims\n", claims);
}
