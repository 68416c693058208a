# Sourced by `run`, which holds the lock of the cache: packages, the kernel with an initramfs, and
# the device model. Each is made once, under a name that changes with what it is made from.
# shellcheck shell=bash disable=SC2154 # `run` sets `here` and `cache`

have() { PATH=$PATH:/sbin:/usr/sbin command -v "$1" >/dev/null; }

# Installs the Debian packages behind the programs that are needed.
install_packages() {
  local missing=()
  have qemu-system-x86_64 || missing+=(qemu-system-x86)
  # The VM's init runs busybox where there are no libraries.
  if [ ! -x /bin/busybox ] || ldd /bin/busybox >/dev/null 2>&1; then missing+=(busybox-static); fi
  have cpio || missing+=(cpio)
  have depmod || missing+=(kmod)
  have xz || missing+=(xz-utils)
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  have apt-get || fail "missing Debian packages, and this is not Debian: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    fail "missing packages; as root: apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  {
    apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  } >&2 || fail "cannot install: ${missing[*]}"
}

# Prints the kernel package that one of Debian's meta packages for the series depends on.
kernel_package() {
  local series=$1 meta package
  for meta in "linux-image-$series-amd64" linux-image-amd64; do
    package=$(apt-cache depends "$meta" 2>/dev/null |
      awk -v prefix="linux-image-$series" '$1 == "Depends:" && index($2, prefix) == 1 { print $2 }') || true
    if [ -n "$package" ]; then
      echo "${package%%$'\n'*}"
      return
    fi
  done
}

# Fetches and packs the kernel. Sets `kernel_dir`.
prepare_kernel() {
  local series=$1 package work
  kernel_dir=$cache/kernel-$series-$(sha256sum <"$here/pack-kernel" | cut -c 1-12)
  if [ -d "$kernel_dir" ]; then return; fi
  have apt-get || fail "the kernel comes from Debian's archive, and this is not Debian"
  work=$(mktemp -d "$cache/kernel.XXXXXX")
  package=$(kernel_package "$series")
  if [ -n "$package" ]; then say "fetching $package"; fi
  if [ -z "$package" ] || ! "$here/pack-kernel" "$package" "$work"; then
    # What apt knows may be nothing yet, or too old.
    if [ "$(id -u)" = 0 ]; then apt-get update -qq >&2 || true; fi
    package=$(kernel_package "$series")
    rm -rf "$work"
    [ -n "$package" ] || fail "apt knows no kernel package of the series $series (linux-image-$series-amd64)"
    mkdir "$work"
    say "fetching $package"
    "$here/pack-kernel" "$package" "$work" || { rm -rf "$work"; fail "cannot prepare $package"; }
  fi
  mv "$work" "$kernel_dir"
}

# Compiles the device model. Sets `device`.
build_device() {
  local source=$here/device/src sum
  sum=$(find "$source" "$here/prepare.sh" -type f -print0 | sort -z | xargs -0 cat | sha256sum | cut -c 1-12)
  device=$cache/device-$sum.so
  if [ -f "$device" ]; then return; fi
  have rustc || fail "missing: rustc (https://rustup.rs)"
  say "compiling the device model"
  rustc --edition 2024 --crate-type cdylib --crate-name i915_vm_device -O -C panic=abort -C strip=symbols \
    -o "$device.new" "$source/lib.rs" >&2 || fail "the device model does not compile"
  mv "$device.new" "$device"
  find "$cache" -maxdepth 1 -name 'device-*.so' -mtime +7 -delete
}
