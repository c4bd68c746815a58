// The memory that serving a model takes on this machine: settings that fit, said with what they cost, or the refusal.

import { EXIT, UserError } from '../../errors.js';
import type { ModelFile } from '../gguf-file.js';
import { type Gpu, gpuCodeHint, importRuntime, startLlama } from '../runtime.js';
import type { FreeMemory, PlanSettings } from './memory-costs.js';
import { type PlanWishes, planMemory } from './memory-plan.js';
import { shapeOf } from './model-shape.js';
import { planText, refusalText, tradesText } from './plan-text.js';

/**
 * Says through `say` what the model takes, what is free and what was given up.
 * Throws a UserError: with the nearest plan where the model does not fit (69), where layers are wished on a GPU that is not there (2), and
 * where the runtime or its binary is missing (69).
 */
export async function settingsThatFit(
  file: ModelFile,
  gpu: Gpu,
  wishes: PlanWishes,
  say: (text: string) => void,
): Promise<PlanSettings> {
  const free = await freeMemory(gpu);
  if (free.gpuBytes === 0 && wishes.gpuLayers !== 'most' && wishes.gpuLayers > 0) {
    const hint = gpu === 'off' ? undefined : gpuCodeHint();
    const why =
      hint === undefined
        ? `there is no GPU to put layers on ${gpu === 'off' ? '(--gpu off)' : 'that llama.cpp finds'}; leave it out, or check --gpu`
        : `no GPU code is installed; ${hint}`;
    throw new UserError(`--gpu-layers ${wishes.gpuLayers}: ${why}`);
  }
  const shape = shapeOf(file.metadata, file.tensors);
  const plan = planMemory(shape, wishes, free);
  if (plan.status === 'too-large') throw new UserError(refusalText(plan, free), EXIT.unavailable);
  say(planText(shape, plan.settings, free).trimEnd());
  for (const trade of tradesText(shape, wishes, plan.settings, free)) say(trade);
  return plan.settings;
}

async function freeMemory(gpu: Gpu): Promise<FreeMemory> {
  const { runtime } = await importRuntime();
  const { llama } = await startLlama(runtime, gpu);
  const host = await llama.getRamState();
  const device = llama.gpu === false ? { free: 0, unifiedSize: 0 } : await llama.getVramState();
  return { gpuBytes: device.free, hostBytes: host.free, shared: device.unifiedSize > 0 };
}
