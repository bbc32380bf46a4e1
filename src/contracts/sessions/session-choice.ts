/** What a person chooses for a session. */
import type { SessionRecord } from '../store/records.ts';

/** What was chosen before its first message creates it. */
export type SessionChoice = Partial<Pick<SessionRecord, 'profileId' | 'model' | 'mode'>>;
