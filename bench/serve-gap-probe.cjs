// What fills the time between two evaluations of `awb serve`, seen from JavaScript: preloaded by bench/serve-gap.mjs, which asks for the counts.
// Every call of the native addon is timed, and so are the steps around it; what runs while llama.cpp evaluates is counted apart.

const { Socket } = require('node:net');

/** Nanoseconds and calls of each step, gap by gap: inside it, and hidden behind the evaluation before. */
let steps = [];
let current = {};
let gaps = [];
let decodes = [];
let samples = [];
/** While llama.cpp evaluates. */
let evaluating = true;
let batch = 0;
let lastBatch = 0;
let endedAt;
let sampledFrom;
let sampledTo;
const now = () => Number(process.hrtime.bigint());

function timed(name, act) {
  return function (...given) {
    const from = now();
    try {
      return act.apply(this, given);
    } finally {
      count(name, now() - from);
    }
  };
}

function count(name, spent) {
  current[name] ??= { inside: 0, hidden: 0, calls: 0 };
  current[name][evaluating ? 'hidden' : 'inside'] += spent;
  current[name].calls += 1;
}

const loaded = new WeakSet();
const { dlopen } = process;
process.dlopen = function (module, ...rest) {
  const result = dlopen.call(this, module, ...rest);
  if (module.exports?.AddonContext !== undefined && !loaded.has(module)) {
    loaded.add(module);
    wrap(module.exports);
  }
  return result;
};

/** Native methods cannot be replaced where they are; subclasses can stand in for their classes. */
function wrap(exports) {
  const { AddonContext, AddonModel, AddonSampler } = exports;
  exports.AddonContext = class extends AddonContext {
    decodeBatch() {
      const from = now();
      const width = batch;
      if (endedAt !== undefined && width === lastBatch) {
        gaps.push([width, from - endedAt]);
        if (sampledFrom !== undefined) {
          // A pool of one thread is asked before the evaluation has ended, and samples behind it.
          const since = Math.max(sampledFrom, endedAt);
          count('until sampling is asked for', since - endedAt);
          count('sampling, with the way to its thread and back', sampledTo - since);
          count('from sampling to the next evaluation', from - sampledTo);
        }
        steps.push([width, current]);
      }
      current = {};
      sampledFrom = undefined;
      evaluating = true;
      const promise = super.decodeBatch();
      const ended = () => {
        endedAt = now();
        evaluating = false;
        lastBatch = width;
        decodes.push([width, endedAt - from]);
      };
      promise.then(ended, ended);
      return promise;
    }
    sampleToken(...given) {
      const from = now();
      sampledFrom ??= from;
      const promise = super.sampleToken(...given);
      count('asking for a sample', now() - from);
      const ended = () => {
        sampledTo = now();
        samples.push([batch, sampledTo - Math.max(from, endedAt)]);
      };
      promise.then(ended, ended);
      return promise;
    }
    initBatch(size) {
      batch = size;
      return timed('initBatch', super.initBatch).call(this, size);
    }
    addToBatch(...given) {
      return timed('addToBatch', super.addToBatch).apply(this, given);
    }
    setThreads(...given) {
      return timed('setThreads', super.setThreads).apply(this, given);
    }
  };
  exports.AddonModel = class extends AddonModel {
    detokenize(...given) {
      return timed('detokenize', super.detokenize).apply(this, given);
    }
    isEogToken(...given) {
      return timed('isEogToken', super.isEogToken).apply(this, given);
    }
  };
  exports.AddonSampler = class extends AddonSampler {
    applyConfig(...given) {
      return timed('applyConfig', super.applyConfig).apply(this, given);
    }
  };
}

JSON.stringify = timed('JSON.stringify', JSON.stringify);
for (const name of ['_write', '_writev']) Socket.prototype[name] = timed('socket write', Socket.prototype[name]);

// node-llama-cpp tries its binary in a process of its own, which inherits this script and has its own messages.
if (process.argv[2] === 'serve') {
  process.on('message', () => {
    process.send({ steps, gaps, decodes, samples });
    steps = [];
    gaps = [];
    decodes = [];
    samples = [];
  });
  process.channel?.unref();
}
