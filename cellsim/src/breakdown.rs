//! Where the time to the first and to the last byte of followed downloads goes, beside the pipes and queues that
//! carry them.
//!
//! A followed download is at one place at any time: with its client, on a link, in a kernel, in a queue. What it
//! waits for there is a part; where one part ends the next begins, so that the parts of a byte add up to its time
//! exactly. The first byte's way starts with the request for it: the client waits for a circuit, BEGIN goes to
//! the exit, CONNECTED comes back, the request goes to the server, the byte comes back. The way of the last byte
//! is the same up to the server.
//!
//! In: what the world tells at each step. Out: [`Timeline`]s, whole when their byte has come. Positions of a pipe are
//! bytes from its first; a cell's is that of its end.

use std::collections::BTreeMap;

use crate::cells::{CELL_BYTES, PAYLOAD_BYTES};
use crate::counts::narrow;
use crate::ids::{ClientId, DownloadId, EdgeId, HostId, PipeId, QueueId};
use crate::time::{Span, Time};
use crate::timeline::{Leg, Part, Piece, Spot, Timeline};
use crate::totals::{FollowedDownloads, Outcome};

/// Which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Byte {
    /// The first, and what both have in common.
    First,
    /// The last.
    Last,
}

impl Byte {
    /// The byte's name in tables.
    pub fn name(self) -> &'static str {
        ["first", "last"][self as usize]
    }
}

/// A followed byte.
pub type Token = (DownloadId, Byte);

/// A followed download.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Whose it is.
    pub client: ClientId,
    /// The download's number, counted per client.
    pub number: u64,
    /// Client, guard, middle, exit, server.
    pub path: [HostId; 5],
    attached: Option<Time>,
    first: Timeline,
    last: Option<Timeline>,
    first_came: bool,
    last_came: bool,
}

impl Followed {
    fn timeline(&mut self, byte: Byte) -> &mut Timeline {
        match byte {
            Byte::First => &mut self.first,
            Byte::Last => self.last.as_mut().expect("the last byte is followed from the answer on"),
        }
    }
}

/// How far a byte of a pipe has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Buffered,
    InKernel,
    Flying,
    Missing,
    Readable,
}

/// A followed byte in a pipe.
#[derive(Clone, Copy, Debug)]
struct Mark {
    token: Token,
    end: u64,
    stage: Stage,
}

/// What is to be seen of a pipe.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The time of the look.
    pub now: Time,
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// Bytes that its sender has given to the kernel, that were sent, that have come, and that may be read or have been.
    pub positions: [u64; 4],
    /// What a byte in the sending program's hands waits for.
    pub buffered: Part,
    /// What a readable byte waits for.
    pub readable: Part,
    /// When the last chunk leaves the up-link, how long it takes there, and to the other end.
    pub departure: Option<(Time, Span, Span)>,
    /// How long the chunk that has just come took on the down-link.
    pub down: Option<Span>,
}

impl Mark {
    fn advance(&mut self, timeline: &mut Timeline, view: &View) {
        let [written, sent, arrived, delivered] = view.positions;
        let host = |at| Spot { at, to: None };
        let link = Spot { at: view.from, to: Some(view.to) };
        // Ends: each step but the last goes to a later stage.
        loop {
            self.stage = match self.stage {
                Stage::Buffered if self.end <= written => Stage::InKernel,
                Stage::Buffered => return timeline.wait(view.now, host(view.from), view.buffered),
                Stage::InKernel if self.end <= sent => {
                    let Some((departure, service, one_way)) = view.departure else {
                        return;
                    };
                    timeline.wait(view.now, link, Part::UpQueue);
                    timeline.wait(departure.saturating_sub(service), link, Part::UpSending);
                    timeline.wait(departure, link, Part::Propagation);
                    timeline.wait(departure + one_way, link, Part::DownQueue);
                    Stage::Flying
                }
                Stage::InKernel => return timeline.wait(view.now, host(view.from), Part::SendKernel),
                Stage::Flying if self.end <= arrived => {
                    if let Some(service) = view.down {
                        timeline.wait(view.now.saturating_sub(service), link, Part::DownSending);
                    }
                    Stage::Missing
                }
                Stage::Flying => return,
                Stage::Missing if self.end <= delivered => Stage::Readable,
                Stage::Missing => return timeline.wait(view.now, link, Part::Recovery),
                Stage::Readable => return timeline.wait(view.now, host(view.to), view.readable),
            }
        }
    }
}

/// The bookkeeping of a run in which downloads are followed.
pub struct Breakdown {
    /// One download in so many.
    pub one_in: u64,
    downloads: BTreeMap<DownloadId, Followed>,
    /// Followed bytes in pipes.
    pipes: BTreeMap<PipeId, Vec<Mark>>,
    /// Followed bytes in circuit queues, each with the cells before it.
    queues: BTreeMap<QueueId, Vec<(Token, u32)>>,
    /// Followed bytes in exits' hands, each with its position in the pipe from the server.
    edges: BTreeMap<EdgeId, Vec<(Token, u64)>>,
    /// Followed bytes in the run of cells that is being moved, each with its place in the run.
    held: Vec<(Token, u32)>,
    /// What became of the downloads.
    pub counts: FollowedDownloads,
}

impl Breakdown {
    /// Follow one download in `one_in`.
    pub fn new(one_in: u64) -> Self {
        Self {
            one_in,
            downloads: BTreeMap::new(),
            pipes: BTreeMap::new(),
            queues: BTreeMap::new(),
            edges: BTreeMap::new(),
            held: Vec::new(),
            counts: FollowedDownloads::default(),
        }
    }

    /// Whether `download` is followed.
    pub fn follows(&self, download: DownloadId) -> bool {
        self.downloads.contains_key(&download)
    }

    /// Whether a followed byte is in `pipe`.
    pub fn holds(&self, pipe: PipeId) -> bool {
        self.pipes.contains_key(&pipe)
    }

    /// Follow `download`, number `number` of `client` at `host`, from `now` on.
    pub fn open(&mut self, now: Time, download: DownloadId, client: (ClientId, HostId), number: u64) {
        let followed = Followed {
            client: client.0,
            number,
            path: [client.1; 5],
            attached: None,
            first: Timeline::new(now, client.1),
            last: None,
            first_came: false,
            last_came: false,
        };
        self.counts.followed += 1;
        self.downloads.insert(download, followed);
    }

    /// `download` goes by `path` from `now` on. If it went by another before, all since then is a retry.
    pub fn attach(&mut self, now: Time, download: DownloadId, path: [HostId; 5]) {
        let Some(followed) = self.downloads.get_mut(&download) else {
            return;
        };
        followed.path = path;
        let client = Spot { at: path[0], to: None };
        let timeline = &mut followed.first;
        if let Some(before) = followed.attached {
            *timeline = Timeline::new(timeline.start(), path[0]);
            timeline.wait(before, client, Part::Retry);
        }
        followed.attached.get_or_insert(now);
        timeline.turn(now, Leg::Begin, client, Part::SendKernel);
    }

    /// From `now` on, `download` is on `leg`, and waits for `part` at `spot`.
    pub fn turn(&mut self, now: Time, download: DownloadId, leg: Leg, spot: Spot, part: Part) {
        if let Some(followed) = self.downloads.get_mut(&download) {
            followed.first.turn(now, leg, spot, part);
        }
    }

    /// The byte before position `end` of `pipe` is that of `token`, and in the sending program's hands.
    pub fn mark(&mut self, token: Token, pipe: PipeId, end: u64) {
        self.pipes.entry(pipe).or_default().push(Mark { token, end, stage: Stage::Buffered });
    }

    /// The server of `download` has its request at `now`, and answers with `bytes` by `pipe`.
    pub fn answer(&mut self, now: Time, download: DownloadId, server: HostId, pipe: PipeId, bytes: u64) {
        let Some(followed) = self.downloads.get_mut(&download) else {
            return;
        };
        let spot = Spot { at: server, to: None };
        followed.first.turn(now, Leg::Response, spot, Part::Server);
        followed.last = Some(followed.first.clone());
        self.mark((download, Byte::First), pipe, 1);
        self.mark((download, Byte::Last), pipe, bytes);
    }

    /// Move the bytes of `pipe` on to where they are in `view`.
    pub fn look(&mut self, pipe: PipeId, view: &View) {
        for mark in self.pipes.get_mut(&pipe).into_iter().flatten() {
            let (download, byte) = mark.token;
            if let Some(followed) = self.downloads.get_mut(&download) {
                mark.advance(followed.timeline(byte), view);
            }
        }
    }

    /// The receiver of `pipe` takes `cells` cells up to `position`: those of followed bytes are held.
    pub fn take_cells(&mut self, pipe: PipeId, position: u64, cells: u32) {
        self.held.clear();
        let begin = position - u64::from(cells) * CELL_BYTES;
        for (token, end) in self.take(pipe, position) {
            self.held.push((token, place_of(end, begin, CELL_BYTES)));
        }
    }

    /// The receiver of `pipe` takes its bytes up to `position`: the followed ones, with their positions.
    pub fn take(&mut self, pipe: PipeId, position: u64) -> Vec<(Token, u64)> {
        let Some(marks) = self.pipes.get_mut(&pipe) else {
            return Vec::new();
        };
        let taken = draw(marks, |mark| mark.end <= position);
        if marks.is_empty() {
            self.pipes.remove(&pipe);
        }
        taken.into_iter().map(|mark| (mark.token, mark.end)).collect()
    }

    /// What is held, which is held no longer.
    pub fn release(&mut self) -> Vec<(Token, u32)> {
        std::mem::take(&mut self.held)
    }

    /// The next cell that is queued is that of `download`.
    pub fn hold(&mut self, download: DownloadId) {
        self.held.clear();
        if self.follows(download) {
            self.held.push(((download, Byte::First), 0));
        }
    }

    /// What is held joins the queue `index` of `relay` at `now`, with `before` cells in it, on `leg` if it is another.
    pub fn queue(&mut self, now: Time, relay: HostId, index: QueueId, before: u32) {
        let spot = Spot { at: relay, to: None };
        for (token, place) in self.release() {
            if let Some(followed) = self.downloads.get_mut(&token.0) {
                followed.timeline(token.1).wait(now, spot, Part::CircuitQueue);
                self.queues.entry(index).or_default().push((token, before + place));
            }
        }
    }

    /// `cells` cells have left the queue `index` for the output buffer of `pipe`, which ends at `position` with them.
    /// Whether a followed one is among them.
    pub fn leave_queue(&mut self, index: QueueId, pipe: PipeId, cells: u32, position: u64) -> bool {
        let Some(waiting) = self.queues.get_mut(&index) else {
            return false;
        };
        let leaving = draw(waiting, |(_, before)| *before < cells);
        waiting.iter_mut().for_each(|(_, before)| *before -= cells);
        if waiting.is_empty() {
            self.queues.remove(&index);
        }
        for &(token, before) in &leaving {
            self.mark(token, pipe, position - u64::from(cells - before - 1) * CELL_BYTES);
        }
        !leaving.is_empty()
    }

    /// The exit has read from the server of `edge` up to `position` of `pipe`, at `now`.
    pub fn read_edge(&mut self, now: Time, exit: HostId, edge: EdgeId, pipe: PipeId, position: u64) {
        for (token, end) in self.take(pipe, position) {
            if let Some(followed) = self.downloads.get_mut(&token.0) {
                followed.timeline(token.1).wait(now, Spot { at: exit, to: None }, Part::Window);
                self.edges.entry(edge).or_default().push((token, end));
            }
        }
    }

    /// The exit packages `bytes` of `edge` up to `position`: the followed ones are held.
    pub fn package(&mut self, edge: EdgeId, position: u64, bytes: u64) {
        self.held.clear();
        let Some(waiting) = self.edges.get_mut(&edge) else {
            return;
        };
        for (token, end) in draw(waiting, |(_, end)| *end <= position) {
            self.held.push((token, place_of(end, position - bytes, PAYLOAD_BYTES)));
        }
        if waiting.is_empty() {
            self.edges.remove(&edge);
        }
    }

    /// `byte` has come to its client at `now`: the download, and the whole timeline of the byte.
    pub fn come(&mut self, now: Time, token: Token) -> Option<(&Followed, Vec<Piece>)> {
        let followed = self.downloads.get_mut(&token.0)?;
        let pieces = followed.timeline(token.1).whole(now);
        match token.1 {
            Byte::First => followed.first_came = true,
            Byte::Last => followed.last_came = true,
        }
        self.counts.first_bytes += u64::from(token.1 == Byte::First);
        Some((followed, pieces))
    }

    /// The stream of `download` is closed: none of its bytes is of interest any more.
    pub fn detach(&mut self, download: DownloadId) {
        if self.follows(download) {
            self.pipes.retain(|_, marks| {
                marks.retain(|mark| mark.token.0 != download);
                !marks.is_empty()
            });
            let other = |(token, _): &(Token, u32)| token.0 != download;
            self.queues.values_mut().for_each(|waiting| waiting.retain(other));
            self.edges.values_mut().for_each(|waiting| waiting.retain(|(token, _)| token.0 != download));
            self.held.retain(other);
        }
    }

    /// `download` has ended as `outcome`; whether its first byte had come.
    pub fn end(&mut self, download: DownloadId, outcome: Outcome, first_byte: bool) {
        let Some(followed) = self.downloads.remove(&download) else {
            return;
        };
        let counts = &mut self.counts;
        let complete = outcome == Outcome::Complete;
        *match outcome {
            _ if first_byte != followed.first_came || complete != followed.last_came => &mut counts.lost,
            Outcome::Complete => &mut counts.whole,
            Outcome::Unfinished => &mut counts.unfinished,
            Outcome::Failed | Outcome::Timeout => &mut counts.ended,
        } += 1;
    }

    /// The queue `index` is dropped with all that is in it.
    pub fn drop_queue(&mut self, index: QueueId) {
        self.queues.remove(&index);
    }

    /// The pipe is closed.
    pub fn drop_pipe(&mut self, pipe: PipeId) {
        self.pipes.remove(&pipe);
    }
}

/// Take the elements out that are `wanted`.
fn draw<T>(list: &mut Vec<T>, wanted: impl Fn(&T) -> bool) -> Vec<T> {
    let (drawn, left) = std::mem::take(list).into_iter().partition(wanted);
    *list = left;
    drawn
}

/// Which of the pieces of `size` bytes that begin at `begin` has the byte before `end`.
fn place_of(end: u64, begin: u64, size: u64) -> u32 {
    narrow((end - 1 - begin) / size)
}
