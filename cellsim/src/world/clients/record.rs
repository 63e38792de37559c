//! What clients leave in the tables: their downloads, and what they received in each second; and what is seen of them
//! from outside.

use super::Clients;
use crate::ids::DownloadId;
use crate::recorder::StreamRow;
use crate::totals::Outcome;
use crate::world::context::Context;
use crate::world::shared::Shared;

impl Clients {
    /// Record what clients received in `second`, which ends now or is cut off.
    pub fn record_second(&mut self, cx: &mut Context, second: i32) {
        for ((kind, _), bytes) in cx.params.kinds.iter().zip(&mut self.received) {
            match std::mem::take(bytes) {
                0 => {}
                bytes => cx.recorder.received(second, kind, bytes),
            }
        }
    }

    /// Record the downloads that the end of the run cuts off.
    pub fn record_unfinished(&mut self, s: &mut Shared) {
        let all = (0..self.downloads.len()).map(DownloadId::from);
        let mut left: Vec<DownloadId> = all.filter(|&download| self.downloads[download].active).collect();
        left.sort_by_key(|&download| {
            let download = &self.downloads[download];
            (download.client, download.number)
        });
        for download in left {
            self.record(s, download, Outcome::Unfinished, None);
        }
    }

    pub(super) fn record(
        &mut self,
        s: &mut Shared,
        download: DownloadId,
        outcome: Outcome,
        error: Option<&'static str>,
    ) {
        let ended = &self.downloads[download];
        let client = &s.network.spec().clients[usize::from(ended.client)];
        s.cx.recorder.stream(&StreamRow {
            client: &client.name,
            kind: &client.kind,
            server: &s.network.spec().servers[usize::from(ended.server)].name,
            circuit: ended.circuit_number,
            stream: ended.number,
            start: ended.start,
            connected: ended.connected,
            first_byte: ended.first_byte,
            half: ended.half,
            most: ended.most,
            latest: ended.latest,
            end: s.cx.now,
            wanted: ended.wanted,
            got: ended.got,
            outcome,
            error,
        });
        s.cx.totals.count(outcome);
        if let Some(breakdown) = &mut s.cx.breakdown {
            breakdown.end(download, outcome, ended.first_byte.is_some());
        }
    }

    /// By client: how many downloads it has begun.
    pub fn downloads_begun(&self) -> Vec<u64> {
        self.clients.iter().map(|client| client.downloads_made).collect()
    }

    /// For each slot of a download that is or was in use: the number that its client gave it, and the bytes it has got.
    pub fn bytes_got(&self) -> Vec<(u64, u64)> {
        self.downloads.iter().map(|download| (download.number, download.got)).collect()
    }
}
