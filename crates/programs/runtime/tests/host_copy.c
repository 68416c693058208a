// A Vulkan program that stores an image by VK_EXT_host_image_copy to memory that is cached and not coherent, and lets the GPU copy it to a buffer.
// The driver stores the pixels, so it has to flush them; the program cannot. `coherent` takes coherent memory, which needs no flush.
//
//     cc -g -o host_copy host_copy.c -lvulkan
//     gemtool sanitize glk -- ./host_copy
#include "vk.h"

enum { SIZE = 64 };

static VkDeviceMemory allocate(VkMemoryRequirements need, int coherent)
{
    VkDeviceMemory memory;
    CHECK(vkAllocateMemory(device, &(VkMemoryAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = need.size,
        .memoryTypeIndex = memory_type(need.memoryTypeBits, coherent),
    }, NULL, &memory));
    return memory;
}

static PFN_vkVoidFunction function(const char *name)
{
    PFN_vkVoidFunction found = vkGetDeviceProcAddr(device, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return found;
}

int main(int argc, char **argv)
{
    int coherent = argc > 1 && !strcmp(argv[1], "coherent");
    VkInstance instance;
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &(VkApplicationInfo){
            .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3,
        },
    }, NULL, &instance));
    uint32_t one = 1;
    vkEnumeratePhysicalDevices(instance, &one, &gpu);
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority,
    };
    VkPhysicalDeviceHostImageCopyFeaturesEXT feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT, .hostImageCopy = VK_TRUE,
    };
    const char *extension = VK_EXT_HOST_IMAGE_COPY_EXTENSION_NAME;
    CHECK(vkCreateDevice(gpu, &(VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &feature, .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue_info, .enabledExtensionCount = 1, .ppEnabledExtensionNames = &extension,
    }, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, 0, 0, &queue);
    PFN_vkTransitionImageLayoutEXT transition = (PFN_vkTransitionImageLayoutEXT)function("vkTransitionImageLayoutEXT");
    PFN_vkCopyMemoryToImageEXT copy = (PFN_vkCopyMemoryToImageEXT)function("vkCopyMemoryToImageEXT");

    VkImage image;
    CHECK(vkCreateImage(device, &(VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D, .format = VK_FORMAT_R32_UINT,
        .extent = { SIZE, SIZE, 1 }, .mipLevels = 1, .arrayLayers = 1, .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
    }, NULL, &image));
    VkMemoryRequirements need;
    vkGetImageMemoryRequirements(device, image, &need);
    CHECK(vkBindImageMemory(device, image, allocate(need, coherent), 0));
    VkBuffer buffer;
    CHECK(vkCreateBuffer(device, &(VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = SIZE * SIZE * 4, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    }, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &need);
    CHECK(vkBindBufferMemory(device, buffer, allocate(need, 1), 0));

    static uint32_t pixels[SIZE * SIZE];
    for (uint32_t n = 0; n < SIZE * SIZE; n++)
        pixels[n] = n + 1;
    CHECK(transition(device, 1, &(VkHostImageLayoutTransitionInfoEXT){
        .sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT, .image = image,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL, .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
    }));
    VkImageSubresourceLayers layer = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 };
    CHECK(copy(device, &(VkCopyMemoryToImageInfoEXT){
        .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INFO_EXT, .dstImage = image,
        .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL, .regionCount = 1,
        .pRegions = &(VkMemoryToImageCopyEXT){
            .sType = VK_STRUCTURE_TYPE_MEMORY_TO_IMAGE_COPY_EXT, .pHostPointer = pixels, .imageSubresource = layer,
            .imageExtent = { SIZE, SIZE, 1 },
        },
    }));

    VkCommandBuffer commands = begin_commands();
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &(VkBufferImageCopy){
        .imageSubresource = layer, .imageExtent = { SIZE, SIZE, 1 },
    });
    CHECK(vkEndCommandBuffer(commands));
    CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands,
    }, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));
    printf("copied\n");
    return 0;
}
