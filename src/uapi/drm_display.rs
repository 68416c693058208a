//! `<drm/drm.h>`: the requests of the display whose structs are not needed here, with the structs'
//! sizes: enough to know the requests, and to refuse them.

use super::requests;

/// No struct is declared here.
pub const LAYOUTS: &[super::Layout] = &[];

/// No constant is declared here.
pub const CONSTANTS: &[(&str, u64)] = &[];

requests! {
    /// Waits for a vertical blank, or asks for an event at one.
    DRM_IOCTL_WAIT_VBLANK = IOWR(b'd', 0x3a, [u8; 24]) == 0xc018_643a;
    /// Asks which frame a CRTC shows.
    DRM_IOCTL_CRTC_GET_SEQUENCE = IOWR(b'd', 0x3b, [u8; 24]) == 0xc018_643b;
    /// Asks for an event at a frame.
    DRM_IOCTL_CRTC_QUEUE_SEQUENCE = IOWR(b'd', 0x3c, [u8; 24]) == 0xc018_643c;
    /// Asks for a gamma table.
    DRM_IOCTL_MODE_GETGAMMA = IOWR(b'd', 0xa4, [u8; 32]) == 0xc020_64a4;
    /// Sets a gamma table.
    DRM_IOCTL_MODE_SETGAMMA = IOWR(b'd', 0xa5, [u8; 32]) == 0xc020_64a5;
    /// Asks what an encoder is.
    DRM_IOCTL_MODE_GETENCODER = IOWR(b'd', 0xa6, [u8; 20]) == 0xc014_64a6;
    /// Asks what a property is.
    DRM_IOCTL_MODE_GETPROPERTY = IOWR(b'd', 0xaa, [u8; 64]) == 0xc040_64aa;
    /// Sets a connector's property.
    DRM_IOCTL_MODE_SETPROPERTY = IOWR(b'd', 0xab, [u8; 16]) == 0xc010_64ab;
    /// Asks for a property's bytes.
    DRM_IOCTL_MODE_GETPROPBLOB = IOWR(b'd', 0xac, [u8; 16]) == 0xc010_64ac;
    /// Asks what a framebuffer is.
    DRM_IOCTL_MODE_GETFB = IOWR(b'd', 0xad, [u8; 28]) == 0xc01c_64ad;
    /// Makes a framebuffer of one plane, by depth and bits per pixel.
    DRM_IOCTL_MODE_ADDFB = IOWR(b'd', 0xae, [u8; 28]) == 0xc01c_64ae;
    /// Asks which planes there are.
    DRM_IOCTL_MODE_GETPLANERESOURCES = IOWR(b'd', 0xb5, [u8; 16]) == 0xc010_64b5;
    /// Asks what a plane is.
    DRM_IOCTL_MODE_GETPLANE = IOWR(b'd', 0xb6, [u8; 32]) == 0xc020_64b6;
    /// Sets what a plane shows.
    DRM_IOCTL_MODE_SETPLANE = IOWR(b'd', 0xb7, [u8; 48]) == 0xc030_64b7;
    /// Asks for an object's properties.
    DRM_IOCTL_MODE_OBJ_GETPROPERTIES = IOWR(b'd', 0xb9, [u8; 32]) == 0xc020_64b9;
    /// Sets an object's property.
    DRM_IOCTL_MODE_OBJ_SETPROPERTY = IOWR(b'd', 0xba, [u8; 24]) == 0xc018_64ba;
    /// Sets a CRTC's cursor and where it points.
    DRM_IOCTL_MODE_CURSOR2 = IOWR(b'd', 0xbb, [u8; 36]) == 0xc024_64bb;
    /// Sets many properties at once.
    DRM_IOCTL_MODE_ATOMIC = IOWR(b'd', 0xbc, [u8; 56]) == 0xc038_64bc;
    /// Makes bytes for a property.
    DRM_IOCTL_MODE_CREATEPROPBLOB = IOWR(b'd', 0xbd, [u8; 16]) == 0xc010_64bd;
    /// Removes them.
    DRM_IOCTL_MODE_DESTROYPROPBLOB = IOWR(b'd', 0xbe, [u8; 4]) == 0xc004_64be;
    /// Leases objects of the display to another file.
    DRM_IOCTL_MODE_CREATE_LEASE = IOWR(b'd', 0xc6, [u8; 24]) == 0xc018_64c6;
    /// Lists the leases.
    DRM_IOCTL_MODE_LIST_LESSEES = IOWR(b'd', 0xc7, [u8; 16]) == 0xc010_64c7;
    /// Lists what is leased.
    DRM_IOCTL_MODE_GET_LEASE = IOWR(b'd', 0xc8, [u8; 16]) == 0xc010_64c8;
    /// Ends a lease.
    DRM_IOCTL_MODE_REVOKE_LEASE = IOWR(b'd', 0xc9, [u8; 4]) == 0xc004_64c9;
    /// Asks what a framebuffer of several planes is.
    DRM_IOCTL_MODE_GETFB2 = IOWR(b'd', 0xce, [u8; 104]) == 0xc068_64ce;
    /// Removes a framebuffer, and leaves on what shows it.
    DRM_IOCTL_MODE_CLOSEFB = IOWR(b'd', 0xd0, [u8; 8]) == 0xc008_64d0;
}
