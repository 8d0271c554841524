"""Moves an array to the GPU and casts it there: CTranslate2's own kernels, in a library with a hidden runtime."""
import logging

import ctranslate2
import numpy

ctranslate2.set_log_level(logging.WARNING)
print("devices:", ctranslate2.get_cuda_device_count())
values = ctranslate2.StorageView.from_array(numpy.ones((4, 8), numpy.float32)).to_device(ctranslate2.Device.cuda)
print("on the GPU:", values.shape)
print("as", values.to(ctranslate2.DataType.float16).dtype)
