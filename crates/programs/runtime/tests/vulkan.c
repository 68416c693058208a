// A Vulkan program: stores to memory that is not coherent, flushes it with vkFlushMappedMemoryRanges, and copies it with
// the GPU. `forget` leaves the flush out; `coherent` takes coherent memory, which needs none.
//
//     cc -g -o vulkan vulkan.c -lvulkan
//     gemtool sanitize chv -- ./vulkan forget
#include "vk.h"

enum { SIZE = 16384, FIRST = 1000, END = 1300 };

static VkBuffer buffer(VkBufferUsageFlags usage, uint32_t type, VkDeviceMemory *memory)
{
    VkBuffer buffer;
    CHECK(vkCreateBuffer(device, &(VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = SIZE, .usage = usage,
    }, NULL, &buffer));
    CHECK(vkAllocateMemory(device, &(VkMemoryAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = SIZE, .memoryTypeIndex = type,
    }, NULL, memory));
    CHECK(vkBindBufferMemory(device, buffer, *memory, 0));
    return buffer;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "flush";
    VkInstance instance;
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO }, NULL, &instance));
    uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &gpu);
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority,
    };
    CHECK(vkCreateDevice(gpu, &(VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
    }, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, 0, 0, &queue);

    uint32_t type = memory_type(~0u, strcmp(mode, "coherent") == 0);
    VkDeviceMemory memory[2];
    VkBuffer from = buffer(VK_BUFFER_USAGE_TRANSFER_SRC_BIT, type, &memory[0]);
    VkBuffer to = buffer(VK_BUFFER_USAGE_TRANSFER_DST_BIT, type, &memory[1]);
    char *bytes;
    CHECK(vkMapMemory(device, memory[0], 0, SIZE, 0, (void **)&bytes));

    VkCommandBuffer commands = begin_commands();
    vkCmdCopyBuffer(commands, from, to, 1, &(VkBufferCopy){ .size = SIZE });
    CHECK(vkEndCommandBuffer(commands));

    for (int frame = 1; frame <= 2; frame++) {
        for (int byte = FIRST; byte < END; byte++)
            bytes[byte] = (char)frame;
        if (strcmp(mode, "flush") == 0)
            CHECK(vkFlushMappedMemoryRanges(device, 1, &(VkMappedMemoryRange){
                .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory[0], .size = VK_WHOLE_SIZE,
            }));
        CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands,
        }, VK_NULL_HANDLE));
        CHECK(vkQueueWaitIdle(queue));
    }
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyBuffer(device, from, NULL);
    vkDestroyBuffer(device, to, NULL);
    vkFreeMemory(device, memory[0], NULL);
    vkFreeMemory(device, memory[1], NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return 0;
}
