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
  local series=$1
  kernel_dir=$cache/kernel-$series-$(sha256sum <"$here/pack-kernel" | cut -c 1-12)
  if [ -d "$kernel_dir" ]; then return; fi
  have apt-get || fail "the kernel comes from Debian's archive, and this is not Debian"
  case $series in
    5.10) pack_from_suite "$series" bullseye ;;
    7.2) pack_from_suite "$series" sid ;;
    *) pack_from_system "$series" ;;
  esac
}

# Packs the kernel of the series that the system's apt knows.
pack_from_system() {
  local series=$1 package
  package=$(kernel_package "$series")
  if [ -n "$package" ] && pack "$package"; then return; fi
  # What apt knows may be nothing yet, or too old.
  if [ "$(id -u)" = 0 ]; then apt-get update -qq >&2 || true; fi
  package=$(kernel_package "$series")
  [ -n "$package" ] || fail "apt knows no kernel package of the series $series (linux-image-$series-amd64)"
  pack "$package" || fail "cannot prepare $package"
}

# Packs the kernel of the series from a suite that is not the system's. apt gets a configuration, lists and a cache of its
# own, in a folder that is removed afterwards: the system's are only read.
pack_from_suite() {
  local series=$1 suite=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg apt package newest='' status=0
  [ -f "$keyring" ] || fail "no $keyring to check the suite $suite with (package debian-archive-keyring)"
  apt=$(mktemp -d "$cache/apt.XXXXXX")
  mkdir -p "$apt"/{apt.conf.d,lists/partial,archives/partial}
  suite_sources "$suite" "$keyring" >"$apt/sources.list"
  : >"$apt/status"
  {
    # Of the system's configuration, the ways to reach a mirror.
    apt-config dump | grep -E '^Acquire::https?::' || true
    printf '%s "%s";\n' Dir::Etc "$apt" Dir::State "$apt" Dir::State::status "$apt/status" Dir::Cache "$apt"
    # The cache may be where only its owner can read.
    printf 'APT::Sandbox::User "%s";\n' "$(id -un)"
  } >"$apt/configuration"
  export APT_CONFIG=$apt/configuration
  say "looking for the suite $suite"
  apt-get update -qq >"$apt/log" 2>&1 || true
  package=$(kernel_package "$series")
  if [ -n "$package" ]; then
    pack "$package" || status=$?
  else
    newest=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2 }') || true
    cat "$apt/log" >&2
    status=77
  fi
  unset APT_CONFIG
  rm -rf "$apt"
  case $status in
    0) ;;
    77) [ -z "$newest" ] || skip "no kernel $series: Debian's suite $suite has $newest now"
      skip "no kernel $series: the mirrors no longer have Debian's suite $suite, or cannot be reached (I915_VM_MIRROR names another one)" ;;
    *) fail "cannot prepare $package" ;;
  esac
}

# Prints apt's sources for the suite and its security updates: the mirrors that the system's apt uses, and $I915_VM_MIRROR,
# which may be an archive whose lists have expired.
suite_sources() {
  local suite=$1 options="arch=amd64 target=Packages signed-by=$2" site
  # A mirror may lag behind a suite that changes every day.
  if [ "$suite" = sid ]; then options+=" check-valid-until=no"; fi
  # shellcheck disable=SC2016 # apt-get expands it
  apt-get indextargets --format '$(SITE)' 'Identifier: Packages' | sort -u | while read -r site; do
    case $site in
      */debian) echo "deb [$options] $site $suite main" ;;
      */debian-security) if [ "$suite" != sid ]; then echo "deb [$options] $site $suite-security main"; fi ;;
    esac
  done
  if [ -n "${I915_VM_MIRROR-}" ]; then
    echo "deb [$options check-valid-until=no] $I915_VM_MIRROR/debian $suite main"
    if [ "$suite" != sid ]; then
      echo "deb [$options check-valid-until=no] $I915_VM_MIRROR/debian-security $suite-security main"
    fi
  fi
}

# Fetches a kernel package and packs it into `kernel_dir`.
pack() {
  local package=$1 work status
  work=$(mktemp -d "$cache/kernel.XXXXXX")
  say "fetching $package"
  "$here/pack-kernel" "$package" "$work" || { status=$?; rm -rf "$work"; return "$status"; }
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
