//! The loop that moves packets: waits for packets and times, reads and writes devices.
//!
//! In: hosts and a [`Network`]. Out: a tally; it ends at a signal. One thread does everything, sleeps when
//! nothing is due (epoll_pwait2 takes nanoseconds), and never waits for a device.
//!
//! The tally is a file in memory with two counts so far, of 8 bytes each, least first: packets handed over, and
//! those of them that were late. A reader sees both as they were within the second, for as long as packets move.

use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::agenda::HostIndex;
use crate::error::Error;
use crate::namespace::Host;
use crate::network::Network;

/// Packets read from one device before others get their turn.
const BATCH: usize = 64;
/// Devices that one look at the kernel tells of.
const EVENTS: usize = 256;
/// What tells the pump to stop, where else the number of a host stands.
const STOP: u64 = u64::MAX;

/// Time from one tally to the next, ns.
const TALLY_NS: u64 = 1_000_000_000;

/// The monotonic clock, ns.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Devices, and how much of the time went by without looking at them.
pub struct Pump<'a> {
    hosts: &'a [Host],
    network: &'a mut Network,
    epoll: OwnedFd,
    tally: &'a OwnedFd,
    /// Packets that the kernel refused: a device that went down.
    pub refused_packets: u64,
}

impl<'a> Pump<'a> {
    /// Watch all devices and `stop`, which becomes readable when the run shall end; write into `tally`.
    pub fn new(
        hosts: &'a [Host],
        network: &'a mut Network,
        stop: &OwnedFd,
        tally: &'a OwnedFd,
    ) -> Result<Self, Error> {
        let failed = |error: Errno| Error::failed(format!("epoll: {error}"));
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        epoll::add(&epoll, stop, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN).map_err(failed)?;
        for (host, index) in hosts.iter().zip(0..) {
            let data = epoll::EventData::new_u64(index);
            epoll::add(&epoll, &host.device, data, epoll::EventFlags::IN).map_err(failed)?;
        }
        Ok(Self { hosts, network, epoll, tally, refused_packets: 0 })
    }

    /// Move packets until told to stop.
    pub fn run(&mut self) -> Result<(), Error> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut looked_ns = now_ns();
        let mut tally_due_ns = looked_ns;
        // Ends when told to stop.
        loop {
            if looked_ns >= tally_due_ns {
                self.tell_tally()?;
                tally_due_ns = looked_ns + TALLY_NS;
            }
            let busy_ns = now_ns() - looked_ns;
            self.wait(&mut events)?;
            looked_ns = now_ns();
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return Ok(()),
                    host => self.read(HostIndex::try_from(host).expect("the number of a host"), busy_ns)?,
                }
                self.hand_over_due();
            }
            self.hand_over_due();
        }
    }

    /// Write the counts so far where a reader finds them.
    fn tell_tally(&self) -> Result<(), Error> {
        let counts = self.network.statistics.so_far().map(u64::to_le_bytes);
        match rustix::io::pwrite(self.tally, counts.as_flattened(), 0) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::failed(format!("the tally: {error}"))),
        }
    }

    /// Sleep until a device has packets or something is due.
    fn wait(&self, events: &mut Vec<epoll::Event>) -> Result<(), Error> {
        let timeout = self.network.next_ns().map(|next_ns| {
            let wait_ns = next_ns.saturating_sub(now_ns());
            Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as _ }
        });
        match epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::failed(format!("epoll: {error}"))),
        }
    }

    /// Read what `host` has sent. Its packets lay in the device for up to `busy_ns`.
    fn read(&mut self, host: HostIndex, busy_ns: u64) -> Result<(), Error> {
        let now_ns = now_ns();
        for _ in 0..BATCH {
            let slot = self.network.slab.take();
            match rustix::io::read(&self.hosts[host as usize].device, self.network.slab.room(slot)) {
                Ok(bytes) => {
                    self.network.statistics.unread.add(busy_ns);
                    self.network.send(now_ns, host, slot, bytes);
                }
                Err(error) => {
                    self.network.slab.give_back(slot);
                    return match error {
                        Errno::AGAIN | Errno::INTR => Ok(()),
                        error => Err(Error::failed(format!("reading a device: {error}"))),
                    };
                }
            }
        }
        Ok(())
    }

    fn hand_over_due(&mut self) {
        let (hosts, refused) = (self.hosts, &mut self.refused_packets);
        self.network.advance(now_ns(), |host, packet| {
            let done_ns = now_ns();
            if rustix::io::write(&hosts[host as usize].device, packet).is_err() {
                *refused += 1;
            }
            done_ns
        });
    }
}
