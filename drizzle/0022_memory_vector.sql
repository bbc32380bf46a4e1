ALTER TABLE "memory" ADD COLUMN "vector" "bytea";--> statement-breakpoint
ALTER TABLE "memory" ADD COLUMN "vector_model" text;