import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { SecondLook } from './second-look';
import { SuccessorController } from './successor.controller';
import { Successors } from './successor';

/** Successors of pay runs: they are made, and gated, over what the bank shows now. */
@Module({
  imports: [EmployerModule],
  controllers: [SuccessorController],
  providers: [SecondLook, Successors],
  exports: [SecondLook],
})
export class SuccessorModule {}
