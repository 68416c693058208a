/* What the Vulkan programs share: a check of each call, the device, and its types of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        VkResult result_ = (call);                                                      \
        if (result_ != VK_SUCCESS) {                                                    \
            fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call, result_);    \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static VkPhysicalDevice gpu;
static VkDevice device;
static VkCommandPool pool;

/* Returns a type of memory among those with a bit, which the CPU can map, and which is coherent or is not. Without one it ends the program. */
static inline uint32_t memory_type(uint32_t among, int coherent)
{
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(gpu, &memory);
    for (uint32_t n = 0; n < memory.memoryTypeCount; n++) {
        VkMemoryPropertyFlags flags = memory.memoryTypes[n].propertyFlags;
        int is_coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
        if ((among >> n & 1) && (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && is_coherent == coherent)
            return n;
    }
    printf("no such type of memory\n");
    exit(77);
}

/* Creates the pool, and begins a command buffer of it. */
static inline VkCommandBuffer begin_commands(void)
{
    CHECK(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
    }, NULL, &pool));
    VkCommandBuffer commands;
    CHECK(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1,
    }, &commands));
    CHECK(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
    }));
    return commands;
}
