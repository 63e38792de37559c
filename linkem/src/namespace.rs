//! Hosts: a network namespace and a TUN device each, as the kernel has them.
//!
//! In: a configuration. Out: two file descriptors for each host. Nothing has a name: the namespace and the
//! device are gone when the last descriptor (or process) that holds them is, however the program ended.
//!
//! The up-link is paced in the host's own kernel, by a token bucket before the device: packets wait there
//! while they still belong to their socket, so that TCP's small queues and the send buffer see them.
//! (A device of this kind takes packets from their socket as they enter it, so reading it slowly would
//! push back on nobody.) What the bucket lets through in a burst after idling, [`crate::pace`] spreads.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cellsim::counts::narrow;
use rustix::thread::UnshareFlags;

use crate::config::{self, Config};
use crate::error::Error;
use crate::rtnetlink::{Rtnetlink, TokenBucket};

/// The name of every host's device.
pub const DEVICE: &str = "link0";
const TUN: &str = "/dev/net/tun";
/// How long the bucket's timer may be late without taking anything from the rate.
const LATE_TIMER_US: u64 = 4_000;
/// Threads that make namespaces: the kernel's locks let no more than about two make progress.
const MAKERS: usize = 2;

/// A host's namespace and the device through which its packets go.
pub struct Host {
    /// The namespace; `nsenter --net=/proc/PID/fd/N` enters it.
    pub namespace: OwnedFd,
    /// The TUN device, not blocking.
    pub device: OwnedFd,
}

/// Threads that close devices.
const CLOSERS: usize = 64;

/// Take all hosts away. For each device the kernel waits until nobody can be using it, about 15 ms, but it
/// waits for many at a time: closed one after another, as when a program is killed, a thousand take 20 s.
pub fn close_all(mut hosts: Vec<Host>) {
    thread::scope(|scope| {
        let share = hosts.len().div_ceil(CLOSERS);
        // Ends: a share is one host or more.
        while !hosts.is_empty() {
            let some = hosts.split_off(hosts.len().saturating_sub(share));
            scope.spawn(move || drop(some));
        }
    });
}

/// Make all hosts of `config`.
///
/// # Errors
///
/// [`Error::Missing`] without the rights or the device, [`Error::Input`] where the kernel refuses a value.
pub fn make_all(config: &Config) -> Result<Vec<Host>, Error> {
    let next = AtomicUsize::new(0);
    let make_some = || -> Result<Vec<(usize, Host)>, Error> {
        let mut made = Vec::new();
        // Ends: the next index passes the last host.
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(host) = config.hosts.get(index) else {
                return Ok(made);
            };
            match make(config, host) {
                Ok(host) => made.push((index, host)),
                Err(error) => {
                    next.store(config.hosts.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let mut made = Vec::new();
    thread::scope(|scope| {
        let makers: Vec<_> = (0..MAKERS).map(|_| scope.spawn(make_some)).collect();
        for maker in makers {
            made.extend(maker.join().map_err(|_| Error::failed("a thread that makes hosts panicked"))??);
        }
        Ok(())
    })?;
    made.sort_by_key(|(index, _)| *index);
    Ok(made.into_iter().map(|(_, host)| host).collect())
}

/// Move the calling thread into a new namespace and make `host` of it.
fn make(config: &Config, host: &config::Host) -> Result<Host, Error> {
    let failed = |what: &str, error: io::Error| Error::failed(format!("{}: {what}: {error}", host.name));
    let namespace = new_namespace(&host.name)?;
    // Without IPv6 a device that comes up sends nothing of its own. A kernel may lack it altogether.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let device = open_device()?;
    let index = device_index().map_err(|error| failed("index of the device", error))?;
    set_sysctls(config)?;
    let mut kernel = Rtnetlink::open().map_err(|error| failed("rtnetlink", error))?;
    let bucket = up_link(config, host);
    let ring = ring_packets(bucket);
    kernel.loopback_up().map_err(|error| failed("bringing lo up", error))?;
    kernel.device_up(index, config.mtu_bytes, ring).map_err(|error| failed("bringing link0 up", error))?;
    kernel.add_address(index, host.address).map_err(|error| failed("adding the address", error))?;
    kernel.add_token_bucket(index, bucket).map_err(|error| {
        Error::missing(format!(
            "{}: pacing the up-link with tbf: {error} (a kernel without sch_tbf?)",
            host.name
        ))
    })?;
    kernel
        .add_default_route(index, &config.congestion_control, config.initial_window_segments)
        .map_err(|error| refused_route(config, &error))?;
    Ok(Host { namespace, device })
}

fn new_namespace(host: &str) -> Result<OwnedFd, Error> {
    // SAFETY: only the network namespace changes, of a thread that opens no socket before.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| match error {
        rustix::io::Errno::PERM => Error::missing(
            "making network namespaces is not permitted: run as root, or inside `unshare --user --map-root-user`",
        ),
        rustix::io::Errno::NOSPC => Error::missing(format!(
            "{host}: no more network namespaces are permitted (see /proc/sys/user/max_net_namespaces)"
        )),
        error => Error::failed(format!("{host}: making a network namespace: {error}")),
    })?;
    File::open("/proc/thread-self/ns/net")
        .map(OwnedFd::from)
        .map_err(|error| Error::failed(format!("{host}: /proc/thread-self/ns/net: {error}")))
}

fn open_device() -> Result<OwnedFd, Error> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(TUN)
        .map_err(|error| Error::missing(format!("{TUN}: {error}")))?;
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(DEVICE.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_TUN | libc::IFF_NO_PI).expect("flags of 16 bits");
    // SAFETY: TUNSETIFF reads and writes an ifreq, which outlives the call.
    if unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &mut request) } < 0 {
        let error = io::Error::last_os_error();
        return Err(Error::missing(format!("{TUN}: making a device: {error}")));
    }
    Ok(device.into())
}

fn device_index() -> io::Result<u32> {
    let name = CString::new(DEVICE)?;
    // SAFETY: the name is a C string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// The token bucket of a host's up-link. It holds a packet more than what the rate carries while its timer
/// is late, at least two packets.
fn up_link(config: &Config, host: &config::Host) -> TokenBucket {
    let mtu = u64::from(config.mtu_bytes);
    let cushion = (host.up_bytes_per_s * LATE_TIMER_US / 1_000_000).max(mtu);
    TokenBucket {
        bytes_per_s: narrow(host.up_bytes_per_s),
        burst_bytes: narrow(mtu + cushion),
        limit_bytes: config.up_queue.packets.saturating_mul(config.mtu_bytes),
    }
}

/// Room in the device for a burst of the smallest packets; 500 is the kernel's default.
fn ring_packets(bucket: TokenBucket) -> u32 {
    const SMALLEST_USUAL_PACKET_BYTES: u32 = 40;
    (bucket.burst_bytes / SMALLEST_USUAL_PACKET_BYTES).clamp(500, 20_000)
}

fn set_sysctls(config: &Config) -> Result<(), Error> {
    for (key, value) in &config.sysctls {
        let path = format!("/proc/sys/{}", key.replace('.', "/"));
        fs::write(&path, value).map_err(|error| {
            Error::input(format!("sysctls: {key}: {value:?}: {error} (in a namespace of its own)"))
        })?;
    }
    Ok(())
}

fn refused_route(config: &Config, error: &io::Error) -> Error {
    match fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control") {
        Ok(available) if available.split_whitespace().all(|name| name != config.congestion_control) => {
            Error::input(format!(
                "congestion_control: {:?}; this kernel has: {}",
                config.congestion_control,
                available.trim()
            ))
        }
        _ => Error::failed(format!("adding the default route: {error}")),
    }
}
