/* Tor's own rules asked for their answers, for cellsim's tests to compare with.
 *
 *     driver bucket|ewma|roundrobin|vegas|activation SEED CASES
 *
 * In: nothing but the arguments; every case is drawn from SEED. Out: a line a case, `NAME SETTING… : STEP…`, whole
 * numbers apart from the times of EWMA. What a step holds is said where it is printed.
 *
 * Linked with the files of patched tor whose functions it calls and with nothing else: the clock is this file's,
 * parameters of the consensus have their defaults, nothing is logged, and functions that no answer needs stay
 * unresolved (`torsweep tor oracle` builds and runs it). */

#define CHANNEL_OBJECT_PRIVATE

#include "orconfig.h"
#include "core/or/or.h"
#include "app/config/or_options_st.h"
#include "core/or/channel.h"
#include "core/or/circuitmux.h"
#include "core/or/circuitmux_ewma.h"
#include "core/or/congestion_control_common.h"
#include "core/or/congestion_control_st.h"
#include "core/or/congestion_control_vegas.h"
#include "core/or/edge_connection_st.h"
#include "core/or/or_circuit_st.h"
#include "core/or/relay.h"
#include "lib/crypt_ops/crypto_rand.h"
#include "lib/evloop/token_bucket.h"
#include "lib/time/compat_time.h"

static uint64_t now_ns;
static uint64_t state;

/* SplitMix64 (Steele et al. 2014). */
static uint64_t
draw(uint64_t bound)
{
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = state;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (z ^ (z >> 31)) % bound;
}

/* The clocks, all at `now_ns`. */
void monotime_get(monotime_t *out)
{
  out->ts_.tv_sec = now_ns / 1000000000;
  out->ts_.tv_nsec = now_ns % 1000000000;
}
void monotime_coarse_get(monotime_coarse_t *out) { monotime_get(out); }
void monotime_zero(monotime_t *out) { memset(out, 0, sizeof(*out)); }
uint64_t monotime_absolute_usec(void) { return now_ns / 1000; }
int64_t monotime_diff_nsec(const monotime_t *start, const monotime_t *end)
{
  return (end->ts_.tv_sec - start->ts_.tv_sec) * INT64_C(1000000000) + end->ts_.tv_nsec - start->ts_.tv_nsec;
}
int64_t monotime_diff_msec(const monotime_t *start, const monotime_t *end)
{
  return monotime_diff_nsec(start, end) / 1000000;
}
void monotime_coarse_add_msec(monotime_coarse_t *out, const monotime_coarse_t *value, uint32_t msec)
{
  const uint64_t ns = value->ts_.tv_sec * UINT64_C(1000000000) + value->ts_.tv_nsec + msec * UINT64_C(1000000);
  out->ts_.tv_sec = ns / 1000000000;
  out->ts_.tv_nsec = ns % 1000000000;
}
/* As in lib/time/compat_time.c, which brings too much with it; an assertion of the tests compares the two. */
#define STAMP_TICKS_PER_SECOND 953
uint32_t monotime_coarse_get_stamp(void)
{
  return (uint32_t) (now_ns / 1000000000) * STAMP_TICKS_PER_SECOND + (uint32_t) (now_ns % 1000000000 >> 20);
}
uint64_t monotime_coarse_stamp_units_to_approx_msec(uint64_t units)
{
  return units * 1000 / STAMP_TICKS_PER_SECOND;
}

/* What the files of tor call and need an answer from. */
static or_options_t options;
const or_options_t *get_options(void) { return &options; }
int32_t networkstatus_get_param(const networkstatus_t *ns, const char *name, int32_t value, int32_t least,
                                int32_t most)
{
  (void) ns; (void) name; (void) least; (void) most;
  return value;
}
unsigned crypto_fast_rng_get_uint(crypto_fast_rng_t *rng, unsigned limit) { (void) rng; return draw(limit); }
crypto_fast_rng_t *get_thread_fast_rng(void) { return NULL; }
void crypto_rand(char *to, size_t size) { memset(to, 0, size); }
void memwipe(void *memory, uint8_t byte, size_t size) { memset(memory, byte, size); }
const or_circuit_t *CONST_TO_OR_CIRCUIT(const circuit_t *circuit)
{
  return SUBTYPE_P(circuit, or_circuit_t, base_);
}
int get_protocol_warning_severity_level(void) { return LOG_INFO; }
void tor_assertion_failed_(const char *file, unsigned line, const char *function, const char *expression,
                           const char *format, ...)
{
  (void) function; (void) format;
  fprintf(stderr, "%s:%u: %s\n", file, line, expression);
}
void tor_abort_(void) { abort(); }
int log_global_min_severity_ = 0;
void log_fn_(int severity, log_domain_mask_t domain, const char *function, const char *format, ...)
{
  (void) severity; (void) domain; (void) function; (void) format;
}
void log_fn_ratelim_(struct ratelim_t *limit, int severity, log_domain_mask_t domain, const char *function,
                     const char *format, ...)
{
  (void) limit; (void) severity; (void) domain; (void) function; (void) format;
}

/* Levels of both buckets: `bucket INTERVAL_US PHASE_US RATE BURST START_NS : TIME_NS READ WRITE TAKEN_READ TAKEN_WRITE …`.
 * READ and WRITE are the levels after the refill at TIME_NS, from which TAKEN_… are taken then. An interval of 0
 * is lazy refill. The sixth number: microseconds until the next burst, as of TIME_NS; else 0. */
static void
bucket_case(void)
{
  static const uint32_t intervals_us[] = { 0, 0, 0, 1000, 10000, 100000, 1000000 };
  const uint32_t interval_us = intervals_us[draw(7)];
  const uint32_t phase_us = interval_us ? draw(interval_us) : 0;
  /* A whole number of bytes each interval: tor rounds others to the nearest. */
  const uint32_t rate = 1000 * (77 + draw(20000)), burst = rate + draw(2) * draw(rate);
  token_bucket_rw_t bucket;
  now_ns = draw(UINT64_C(1000000000000));
  token_bucket_rw_set_burst_refill(interval_us, phase_us);
  printf("bucket %u %u %u %u %"PRIu64" :", interval_us, phase_us, rate, burst, now_ns);
  token_bucket_rw_init(&bucket, rate, burst, token_bucket_rw_get_now());
  for (int step = 0; step < 20; ++step) {
    now_ns += draw(draw(2) ? 30000000 : 1500000000);
    token_bucket_rw_refill(&bucket, token_bucket_rw_get_now());
    const ssize_t read = bucket.read_bucket.bucket, write = bucket.write_bucket.bucket;
    const ssize_t taken_read = draw(read > 0 ? read + 600 : 1), taken_write = draw(write > 0 ? write + 600 : 1);
    printf(" %"PRIu64" %zd %zd %zd %zd %u", now_ns, read, write, taken_read, taken_write,
           token_bucket_rw_usec_until_refill());
    token_bucket_rw_dec(&bucket, taken_read, taken_write);
  }
  putchar('\n');
}

/* Which of 12 circuits sends: `ewma HALF_LIFE_MS : OPERATION…` or `roundrobin QUANTUM : OPERATION…`.
 * `TIME_MS a CIRCUIT`: circuit CIRCUIT has cells. `TIME_MS d CIRCUIT`: it has none any more. `TIME_MS s CIRCUIT
 * CELLS`: CIRCUIT is the one that is picked, and sends CELLS. */
static void
mux_case(const char *name, const circuitmux_policy_t *policy)
{
  enum { CIRCUITS = 12 };
  static circuit_t circuits[CIRCUITS];
  static char cmux_memory[1024];
  circuitmux_t *cmux = (circuitmux_t *) cmux_memory;
  circuitmux_policy_circ_data_t *data[CIRCUITS];
  int active[CIRCUITS] = { 0 };
  const unsigned setting = policy == &ewma_policy ? 100 + draw(60000) : 1 + draw(40);
  printf("%s %u :", name, setting);
  options.CircuitPriorityHalflife = setting / 1000.0;
  options.CircuitRoundRobinQuantum = setting;
  cmux_ewma_set_options(&options, NULL);
  const uint64_t start_ns = now_ns;
  circuitmux_policy_data_t *pol = policy->alloc_cmux_data(cmux);
  for (int i = 0; i < CIRCUITS; ++i)
    data[i] = policy->alloc_circ_data(cmux, pol, &circuits[i], CELL_DIRECTION_OUT, 0);
  /* Counts that differ from the beginning, since tor leaves open which of two equal circuits comes first. */
  for (int i = 0; policy == &ewma_policy && i < CIRCUITS; ++i) {
    const unsigned cells = 1 + draw(100000);
    policy->notify_circ_active(cmux, pol, &circuits[i], data[i]);
    policy->notify_xmit_cells(cmux, pol, &circuits[i], data[i], cells);
    policy->notify_circ_inactive(cmux, pol, &circuits[i], data[i]);
    printf(" 0 a %d 0 0 s %d %u 0 d %d 0", i, i, cells, i);
  }
  for (int step = 0; step < 60; ++step) {
    now_ns += (1 + draw(draw(8) ? 300 : 9000)) * UINT64_C(1000000);
    const uint64_t time_ms = (now_ns - start_ns) / 1000000;
    circuit_t *picked = policy->pick_active_circuit(cmux, pol);
    int i = draw(CIRCUITS);
    if (draw(3) == 0) {
      /* A circuit has no cells any more when it has sent its last one, so it is the first. When tor takes another
       * one out of the middle of EWMA's heap (smartlist_pqueue_remove), it may leave the heap out of order: the
       * element that takes its place moves down, but never up. */
      if (active[i] && policy == &ewma_policy)
        i = picked - circuits;
      active[i] = !active[i];
      (active[i] ? policy->notify_circ_active : policy->notify_circ_inactive)(cmux, pol, &circuits[i], data[i]);
      printf(" %"PRIu64" %c %d 0", time_ms, active[i] ? 'a' : 'd', i);
      continue;
    }
    if (!picked)
      continue;
    const unsigned cells = policy == &ewma_policy ? 1 + draw(200) : 1;
    policy->notify_xmit_cells(cmux, pol, picked, data[picked - circuits], cells);
    printf(" %"PRIu64" s %d %u", time_ms, (int) (picked - circuits), cells);
  }
  putchar('\n');
  for (int i = 0; i < CIRCUITS; ++i) {
    if (active[i])
      policy->notify_circ_inactive(cmux, pol, &circuits[i], data[i]);
    policy->free_circ_data(cmux, pol, &circuits[i], data[i]);
  }
  policy->free_cmux_data(cmux, pol);
}

/* The window of one circuit at an exit: `vegas 0 : TIME_US PACKAGED BLOCKED WINDOW INFLIGHT …`. At TIME_US the
 * circuit packages PACKAGED cells and, where BLOCKED is not 2, a SENDME comes then, with the circuit's channel
 * blocked (1) or not; WINDOW and INFLIGHT are what the step leaves. */
static void
vegas_case(void)
{
  or_circuit_t *circuit = tor_malloc_zero(sizeof(*circuit));
  circuit->p_chan = tor_malloc_zero(sizeof(channel_t));
  circuit->base_.magic = OR_CIRCUIT_MAGIC;
  const circuit_params_t params = { .cc_enabled = 1, .sendme_inc_cells = TLS_RECORD_MAX_CELLS };
  congestion_control_t *cc = congestion_control_new(&params, CC_PATH_EXIT);
  circuit->base_.ccontrol = cc;
  const uint64_t rtt_us = 5000 + draw(400000), spread_us = 1 + draw(rtt_us), start_us = now_ns / 1000;
  const unsigned greed = 1 + draw(4), blocking = draw(3) ? 200 : 8;
  uint64_t sent_us[4096];
  unsigned first = 0, end = 0;
  printf("vegas 0 :");
  for (int step = 0; step < 200; ++step) {
    const uint64_t allowed = cc->cwnd > cc->inflight ? cc->cwnd - cc->inflight : 0;
    const unsigned packaged = draw(greed) ? allowed : draw(allowed + 1);
    for (unsigned cell = 0; cell < packaged; ++cell) {
      congestion_control_note_cell_sent(cc, &circuit->base_, NULL);
      if (cc->inflight % cc->sendme_inc == 0)
        sent_us[end++ % 4096] = now_ns / 1000;
    }
    printf(" %"PRIu64" %u", now_ns / 1000 - start_us, packaged);
    unsigned blocked = 2;
    if (first < end) {
      const uint64_t due_us = sent_us[first++ % 4096] + rtt_us + draw(spread_us);
      printf(" 2 %"PRIu64" %"PRIu64, cc->cwnd, cc->inflight);
      now_ns = MAX(now_ns, due_us * 1000);
      blocked = draw(blocking) == 0;
      circuit->base_.circuit_blocked_on_p_chan = blocked;
      congestion_control_vegas_process_sendme(cc, &circuit->base_);
      printf(" %"PRIu64" 0", now_ns / 1000 - start_us);
    }
    printf(" %u %"PRIu64" %"PRIu64, blocked, cc->cwnd, cc->inflight);
    now_ns += 1000 * (1 + draw(20));
  }
  putchar('\n');
  now_ns = (now_ns / 1000 + 1) * 1000;
}

/* The order in which streams are activated: `activation ORDER : FIRST SERVED… = PLACE…`. ORDER is tor's name;
 * SERVED is when each stream, the newest first, was served last (0: never), and PLACE are their places in the
 * order of activation. FIRST is what was drawn: the place that comes first, where ORDER is random. */
static void
activation_case(void)
{
  static const char *names[] = { "list", "reversed", "random", "lrs" };
  static edge_connection_t streams[20];
  const int order = draw(4), count = 1 + draw(20);
  printf("activation %s :", names[order]);
  for (int i = 0; i < count; ++i) {
    streams[i].next_stream = i + 1 < count ? &streams[i + 1] : NULL;
    streams[i].last_packaged = draw(30);
  }
  smartlist_t *activated = edge_streams_in_order(streams, STREAM_ORDER_LIST + order);
  printf(" %d", order == 2 ? (int) ((edge_connection_t *) smartlist_get(activated, 0) - streams) : 0);
  for (int i = 0; i < count; ++i)
    printf(" %"PRIu64, streams[i].last_packaged);
  printf(" =");
  SMARTLIST_FOREACH(activated, edge_connection_t *, stream, printf(" %d", (int) (stream - streams)));
  putchar('\n');
  smartlist_free(activated);
}

int
main(int argc, char **argv)
{
  if (argc != 4)
    return 2;
  state = strtoull(argv[2], NULL, 10);
  now_ns = UINT64_C(1000000000000);
  for (long left = strtol(argv[3], NULL, 10); left > 0; --left) {
    if (!strcmp(argv[1], "bucket"))
      bucket_case();
    else if (!strcmp(argv[1], "ewma"))
      mux_case("ewma", &ewma_policy);
    else if (!strcmp(argv[1], "roundrobin"))
      mux_case("roundrobin", &roundrobin_policy);
    else if (!strcmp(argv[1], "vegas"))
      vegas_case();
    else if (!strcmp(argv[1], "activation"))
      activation_case();
    else
      return 2;
  }
  return 0;
}
