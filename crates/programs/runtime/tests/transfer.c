// A Vulkan program: fills, updates and copies buffers on a queue that only copies, and sets and resets an event on the first queue. It prints what
// it read, and fails if that is not what it asked for. On a device without a queue that only copies it says so, and ends with 77.
//
//     cc -g -o transfer transfer.c -lvulkan
//     gemtool sim lnl -- ./transfer
#include "vk.h"

enum { SIZE = 16384, WORDS = SIZE / 4, FILLED = 0x5ca1ab1e, UPDATED = 0x0ddba11, MOST = 8 };

static VkBuffer buffer(uint32_t type, uint32_t **words)
{
    VkBuffer buffer;
    VkDeviceMemory memory;
    CHECK(vkCreateBuffer(device, &(VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = SIZE,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    }, NULL, &buffer));
    CHECK(vkAllocateMemory(device, &(VkMemoryAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = SIZE, .memoryTypeIndex = type,
    }, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    CHECK(vkMapMemory(device, memory, 0, SIZE, 0, (void **)words));
    return buffer;
}

/* Returns the first family of queues that copy, and do nothing else. Without one it ends the program. */
static uint32_t copy_family(void)
{
    VkQueueFamilyProperties families[MOST];
    uint32_t count = MOST;
    vkGetPhysicalDeviceQueueFamilyProperties(gpu, &count, families);
    for (uint32_t n = 0; n < count; n++)
        if ((families[n].queueFlags & VK_QUEUE_TRANSFER_BIT) && !(families[n].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
            return n;
    printf("no queue that only copies\n");
    exit(77);
}

/* Begins the commands of a queue of a family. */
static VkCommandBuffer begin(uint32_t family)
{
    VkCommandPool pool;
    CHECK(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family,
    }, NULL, &pool));
    VkCommandBuffer commands;
    CHECK(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1,
    }, &commands));
    CHECK(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO }));
    return commands;
}

/* Runs commands to their end. */
static void run(VkCommandBuffer commands, uint32_t family)
{
    VkQueue queue;
    vkGetDeviceQueue(device, family, 0, &queue);
    CHECK(vkEndCommandBuffer(commands));
    CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands,
    }, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));
}

/* Fails unless a word is the one that was asked for. */
static void expect(const char *what, uint32_t found, uint32_t wanted)
{
    printf("%s %08x\n", what, found);
    if (found != wanted) {
        printf("%s: %08x was asked for\n", what, wanted);
        exit(1);
    }
}

int main(void)
{
    VkInstance instance;
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO }, NULL, &instance));
    uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &gpu);
    uint32_t family = copy_family();
    float priority = 1;
    VkDeviceQueueCreateInfo queues[2] = {
        { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority },
        { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &priority },
    };
    CHECK(vkCreateDevice(gpu, &(VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 2, .pQueueCreateInfos = queues,
    }, NULL, &device));

    uint32_t type = memory_type(~0u, 1), *from, *to;
    VkBuffer source = buffer(type, &from), target = buffer(type, &to);
    for (int word = 0; word < WORDS; word++)
        from[word] = word;
    VkCommandBuffer commands = begin(family);
    vkCmdFillBuffer(commands, target, 0, VK_WHOLE_SIZE, FILLED);
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT, .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
    };
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    vkCmdCopyBuffer(commands, source, target, 1, &(VkBufferCopy){ .srcOffset = 400, .dstOffset = 4000, .size = 4000 });
    uint32_t update = UPDATED;
    vkCmdUpdateBuffer(commands, target, 12000, 4, &update);
    run(commands, family);
    expect("filled", to[0], FILLED);
    expect("before the copy", to[999], FILLED);
    expect("copied first", to[1000], 100);
    expect("copied last", to[1999], 1099);
    expect("after the copy", to[2000], FILLED);
    expect("updated", to[3000], UPDATED);
    expect("filled last", to[WORDS - 1], FILLED);

    VkEvent event;
    CHECK(vkCreateEvent(device, &(VkEventCreateInfo){ .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO }, NULL, &event));
    VkCommandBuffer sets = begin(0), resets = begin(0);
    vkCmdSetEvent(sets, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    run(sets, 0);
    expect("event set", vkGetEventStatus(device, event), VK_EVENT_SET);
    vkCmdResetEvent(resets, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    run(resets, 0);
    expect("event reset", vkGetEventStatus(device, event), VK_EVENT_RESET);
    return 0;
}
