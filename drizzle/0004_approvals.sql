ALTER TABLE "approval" ADD COLUMN "decided_name" text;--> statement-breakpoint
CREATE INDEX "approval_pending" ON "approval" USING btree ("lane","created_at") WHERE state = 'pending';