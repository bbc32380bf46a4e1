/** Dictation: what is said into the microphone becomes text in the message field. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { api } from '../../api.ts';
import { showError } from '../../failures/show-error.ts';
import { Icon } from '../../parts/icon.tsx';
import { toast } from '../../parts/toast.tsx';
import { say } from '../../texts.ts';
import { mayDictate } from '../chat-choices.ts';

/** A longer recording ends by itself, and is transcribed. */
export const MAX_RECORDING_MS = 5 * 60_000;

/** One recording at a time. */
export class Dictation {
  readonly #write: (text: string) => void;
  readonly state = signal<'off' | 'starting' | 'recording' | 'transcribing'>('off');
  #recorder: MediaRecorder | undefined;
  /** Counts recordings: what one brings is for the chat in which it began. */
  #runs = 0;

  /** @param write takes what was said */
  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Begins a recording, or ends the one that runs. */
  toggle(): void {
    if (this.state.value === 'recording') this.#recorder?.stop();
    else if (this.state.value === 'off') void this.#record();
  }

  /** Drops a recording that runs: another chat is opened. */
  cancel(): void {
    this.#runs += 1;
    this.#recorder?.stop();
  }

  async #record(): Promise<void> {
    this.state.value = 'starting';
    const run = (this.#runs += 1);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const recording = run === this.#runs ? await this.#recordingOf(stream) : undefined;
      for (const track of stream.getTracks()) track.stop();
      if (recording === undefined || run !== this.#runs) return;
      this.state.value = 'transcribing';
      const text = await api.transcribe(recording);
      if (run === this.#runs) this.#write(text);
    } catch (error) {
      // The browser's own errors: no microphone, or it may not be used.
      if (error instanceof DOMException) toast(say('page.dictate.no_microphone'), { isError: true });
      else showError(error);
    } finally {
      this.state.value = 'off';
    }
  }

  /** The recording once it has ended. Rejects with `DOMException`. */
  async #recordingOf(stream: MediaStream): Promise<Blob> {
    const recorder = new MediaRecorder(stream);
    this.#recorder = recorder;
    const end = setTimeout(() => recorder.stop(), MAX_RECORDING_MS);
    try {
      return await new Promise((resolve, reject) => {
        recorder.addEventListener('dataavailable', ({ data }) => resolve(data));
        recorder.addEventListener('error', () => reject(new DOMException('', 'NotReadableError')));
        recorder.start();
        this.state.value = 'recording';
      });
    } finally {
      clearTimeout(end);
      this.#recorder = undefined;
    }
  }
}

/** The button; only where recordings are transcribed, and the browser lets pages record. */
export function Microphone({ dictation }: { dictation: Dictation }): JSX.Element | null {
  // Pages over plain HTTP have no `navigator.mediaDevices`.
  if (!mayDictate.value || !('mediaDevices' in navigator) || !('MediaRecorder' in globalThis)) return null;
  const state = dictation.state.value;
  const label = say(`page.dictate.${state === 'starting' ? 'off' : state}`);
  return (
    <button
      id="dictate"
      type="button"
      class={`icon-button ${state}`}
      aria-label={label}
      title={label}
      aria-pressed={state === 'recording'}
      disabled={state === 'starting' || state === 'transcribing'}
      onClick={() => dictation.toggle()}
    >
      <Icon name={state === 'recording' ? 'stop' : 'microphone'} />
    </button>
  );
}
